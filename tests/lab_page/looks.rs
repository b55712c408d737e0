//! How it looks, on a desk and on a phone, by day and by night.

use std::path::Path;

use crate::{
    languages::{PARTS, fill_all_parts},
    page::{Failures::None, on_a_page},
};

/// What reaches beyond the page and is not in a box that scrolls.
const TOO_WIDE: &str = "(() => {
  const scrolls = (node) => node && (getComputedStyle(node).overflowX !== 'visible' || scrolls(node.parentElement));
  const wide = [...document.querySelectorAll('main *')].filter((node) => node.checkVisibility()
    && node.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5 && !scrolls(node.parentElement));
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) wide.push(document.documentElement);
  return wide.map((node) => `${node.tagName}#${node.id}.${node.className}`);
})()";

/// Texts whose contrast with what is behind them is below 4.5 to 1.
const PALE: &str = "(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const over = (below, colour) => {
    canvas.fillStyle = `rgb(${below.join(' ')})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const behind = (node) => node ? over(behind(node.parentElement), getComputedStyle(node).backgroundColor) : [255, 255, 255];
  const light = (colour) => colour.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const contrast = (one, other) => { const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b); return (bright + 0.05) / (dark + 0.05); };
  const faded = (node) => node && (Number(getComputedStyle(node).opacity) < 1 || faded(node.parentElement));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const pale = [];
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === '' || !node.checkVisibility() || node.closest('noscript') || faded(node)) continue;
    const style = getComputedStyle(node);
    const back = behind(node.closest('svg')?.parentElement ?? node);
    const found = contrast(over(back, node.closest('svg') ? style.fill : style.color), back);
    if (found < 4.5) pale.push(`${found.toFixed(2)}: ${walker.currentNode.data.trim()}`);
  }
  return pale;
})()";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_wider_than_the_page_and_no_text_is_pale() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab_page");
    std::fs::create_dir_all(&folder).unwrap();
    on_a_page("looks", None, async |lab| {
        lab.width(1280).await;
        fill_all_parts(lab).await;
        for width in [1280, 390] {
            lab.width(width).await;
            for language in ["en", "zh-Hans"] {
                lab.language(language).await;
                for part in PARTS {
                    lab.go(&format!("#{part}")).await;
                    lab.until_shown(&format!("#part-{part}")).await;
                    for scheme in ["light", "dark"] {
                        lab.scheme(scheme).await;
                        let view = format!("{part}-{width}-{scheme}-{language}");
                        assert_eq!(lab.eval::<Vec<String>>(TOO_WIDE).await, [""; 0], "{view}");
                        assert_eq!(lab.eval::<Vec<String>>(PALE).await, [""; 0], "{view}");
                        lab.screenshot(&folder.join(format!("{view}.png"))).await;
                    }
                }
            }
        }
    })
    .await;
    println!("screenshots: {}", folder.display());
}
