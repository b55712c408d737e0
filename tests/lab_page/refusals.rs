//! Bad input, and what is said of it.

use crate::page::{
    Failures::{None, Provoked},
    Lab, on_a_page,
};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_beside_its_field_in_the_language_of_the_page() {
    on_a_page("herd's form", None, async |lab| {
        lab.go("#herd").await;
        let cases = [
            ("clients", "0", "A whole number from 1 to 200.", "请填 1 到 200 之间的整数。"),
            ("clients", "1000000000", "A whole number from 1 to 200.", "请填 1 到 200 之间的整数。"),
            ("base_ms", "NaN", "A whole number from 1 to 3600000.", "请填 1 到 3600000 之间的整数。"),
            ("cap_ms", "4", "The cap may not be below the base.", "上限不能小于初始等待。"),
            ("cap_ms", "", "A whole number from 1 to 3600000.", "请填 1 到 3600000 之间的整数。"),
            (
                "seed",
                "18446744073709551616",
                "A whole number from 0 to 18446744073709551615.",
                "请填 0 到 18446744073709551615 之间的整数。",
            ),
        ];
        for (field, value, english, chinese) in cases {
            let input = format!("#herd-{field}");
            let before: String = lab.eval(&format!("document.querySelector('{input}').value")).await;
            lab.fill(&input, value).await;
            lab.press("Enter").await;

            assert_eq!(complaint(lab, field).await, english, "{field} {value}");
            assert_eq!(lab.eval::<String>("document.activeElement.id").await, format!("herd-{field}"));
            assert_eq!(lab.eval::<String>("document.querySelector('#part-herd').dataset.state").await, "idle");
            lab.language("zh-Hans").await;
            assert_eq!(complaint(lab, field).await, chinese, "{field} {value}");
            lab.language("en").await;

            lab.fill(&input, &before).await;
            lab.press("Tab").await;
            lab.until("corrected", &format!("document.querySelector('#herd-error-{field}').hidden")).await;
        }
        for name in ["none", "exponential", "proportional", "equal", "full", "decorrelated", "downward"] {
            lab.click(&format!("#herd-strategy-{name}")).await;
        }
        lab.click("#herd-run").await;
        assert_eq!(complaint(lab, "strategies").await, "Choose at least one.");

        lab.go("#herd?strategies=full,slow").await;
        assert_eq!(complaint(lab, "strategies").await, "There is no strategy slow.");
        lab.go("#herd?clients=0").await;
        assert_eq!(complaint(lab, "clients").await, "A whole number from 1 to 200.");
    })
    .await;
}

/// The page asks for nothing of the kind; a link to an older server may.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_is_told_with_its_sentence() {
    on_a_page("refused by the server", Provoked, async |lab| {
        let ended: serde_json::Value = lab
            .eval(
                "import('/lab/herd_server.js').then(({ listen }) => listen({ clients: '0', base_ms: '5', cap_ms: '2000', \
                 seed: '1', strategies: ['full'] }, new AbortController().signal, {}))",
            )
            .await;

        assert_eq!(ended["key"], "refused");
        assert_eq!(ended["args"][1], "clients is a whole number from 1 to 200.");
        assert_eq!(ended["field"]["name"], "clients");

        lab.go("#steps?fault=flood&implementation=naive&key_source=none").await;
        lab.until_shown("#steps-message.steps-error").await;
        assert!(lab.text("#steps-message").await.contains("400"));
    })
    .await;
}

async fn complaint(lab: &Lab, field: &str) -> String {
    lab.text(&format!("#herd-error-{field}")).await
}
