// The timeline: a lane for each client and one for the server, time from top to bottom.

import { two as isOfTwo } from "./steps_told.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 400;
const ROW = 34;
const HEAD = 34;
const TOP = 6;
const BOX = 156;
const CLIENT = 46;
// What the server does for one of two clients stands nearer to it.
const ASIDE = 16;

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

// Nothing of it is in the tab order: the list of steps below it says the same in words.
export function timeline(page, played, href) {
  const { steps } = played;
  const two = isOfTwo(played);
  const server = two ? WIDTH / 2 : WIDTH - BOX / 2 - 24;
  const lane = (client) => (client === 1 ? CLIENT : WIDTH - CLIENT);
  const height = TOP + steps.length * ROW + 12;
  const middle = (step) => TOP + (step.number - 0.5) * ROW;
  const center = (client) => (!two ? server : client === 1 ? server - ASIDE : server + ASIDE);
  const edge = (client) => center(client) + (client === 1 ? -BOX : BOX) / 2;

  const lanes = [[1, CLIENT], ...(two ? [[2, WIDTH - CLIENT]] : [])].map(([client, x]) => [x, page.t("lane_client", client, played)]);
  lanes.push([server, page.t("lane_server")]);
  const names = lanes.map(([x, text]) => svg("text", { class: "lane-name", x, y: 22, "text-anchor": "middle" }, text));
  const lines = lanes.map(([x]) => svg("line", { class: "lane", x1: x, y1: 0, x2: x, y2: height }));

  const rows = steps.map((step) => {
    const y = middle(step);
    const parts = [svg("rect", { class: "row-back", x: 0, y: y - ROW / 2, width: WIDTH, height: ROW })];
    if (step.side === "server") {
      parts.push(...box(step, center(step.client), y, BOX));
      parts.push(svg("rect", { class: "mark", x: edge(step.client) - 2.5, y: y - 8, width: 5, height: 16, rx: 2 }));
      parts.push(...arrow(step));
    } else {
      parts.push(...atClient(step, lane(step.client), y));
    }
    const link = svg("a", { href: href(step.number), tabindex: "-1", "data-step": step.number, class: `step kind-${step.kind}` }, ...parts);
    link.prepend(svg("title", {}, page.t(`say_${step.kind}`, step, played)));
    return link;
  });

  // A request ends where it arrives; an answer ends where it is received.
  function arrow(step) {
    const y = middle(step);
    const x = edge(step.client);
    if (step.kind === "arrived") {
      const sent = steps.findLast((other) => other.number < step.number && other.kind === "sent" && same(other, step));
      return sent ? line(lane(step.client), middle(sent), x, y, "request") : [];
    }
    if (step.kind === "answered") {
      const received = steps.find((other) => other.number > step.number && other.kind === "received" && same(other, step));
      return received ? line(x, y, lane(step.client), middle(received), "answer") : [];
    }
    if (step.kind === "answer_lost") {
      const half = (x + lane(step.client)) / 2;
      return [
        svg("line", { class: "wire answer lost", x1: x, y1: y, x2: half, y2: y + 8 }),
        ...cross(half, y + 8, "lost"),
      ];
    }
    return [];
  }

  function atClient(step, x, y) {
    switch (step.kind) {
      case "no_answer": return cross(x, y, "bad");
      case "ended": return box(step, Math.min(Math.max(x, 50), WIDTH - 50), y, 92);
      default: return [svg("circle", { class: "dot", cx: x, cy: y, r: 4.5 }), beside(step, x, y)];
    }
  }

  // Towards the middle, where the arrow is not.
  function beside(step, x, y) {
    const left = x < server;
    const aside = step.kind === "received" ? y + 14 : y - 5;
    const props = { class: "note", x: left ? x + 9 : x - 9, y: aside, "text-anchor": left ? "start" : "end" };
    return svg("text", props, page.t(`label_${step.kind}`, step, played));
  }

  function box(step, x, y, width) {
    return [
      svg("rect", { class: "box", x: x - width / 2, y: y - 13, width, height: 26, rx: 6 }),
      svg("text", { class: "label", x, y: y + 4, "text-anchor": "middle" }, page.t(`label_${step.kind}`, step, played)),
    ];
  }

  return {
    width: WIDTH,
    head: picture(HEAD, "steps-svg steps-head", names),
    root: picture(height, "steps-svg", [...lines, ...rows]),
    extent: (number) => ({ top: HEAD + TOP + (number - 1) * ROW, bottom: HEAD + TOP + number * ROW }),
    show(number) {
      rows.forEach((row, index) => {
        row.dataset.when = index + 1 < number ? "past" : index + 1 === number ? "now" : "later";
      });
    },
  };
}

function picture(height, name, parts) {
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: name, "aria-hidden": "true", focusable: "false" }, ...parts);
}

function same(one, other) {
  return one.client === other.client && one.attempt === other.attempt;
}

function line(x1, y1, x2, y2, kind) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const wing = (turn) => `${x2 - 8 * Math.cos(angle + turn)},${y2 - 8 * Math.sin(angle + turn)}`;
  return [
    svg("line", { class: `wire ${kind}`, x1, y1, x2, y2 }),
    svg("polygon", { class: `tip ${kind}`, points: `${x2},${y2} ${wing(0.45)} ${wing(-0.45)}` }),
  ];
}

function cross(x, y, kind) {
  return [[-6, -6], [-6, 6]].map(([dx, dy]) => svg("line", { class: `cross ${kind}`, x1: x + dx, y1: y + dy, x2: x - dx, y2: y - dy }));
}
