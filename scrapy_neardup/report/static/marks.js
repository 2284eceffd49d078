// The marks of a review: kept in this browser, counted, exported as labels, and imported again.

const MARKS = ['right', 'wrong', 'unsure'];
const pairs = meta.review.pairs;
const idOf = (item) => meta.review.ids[item];
const keyOf = (pair) => JSON.stringify([idOf(pair.match), idOf(pair.item)]);
const marks = new Map(); // key of a pair -> mark
const storageName = `neardup-review-${checksum(pairs.map(keyOf).join('\n'))}`;

function checksum(text) {
  let sum = 0x811c9dc5;
  for (let place = 0; place < text.length; place += 1) sum = Math.imul(sum ^ text.charCodeAt(place), 0x01000193) >>> 0;
  return sum.toString(16);
}

function loadMarks() {
  try {
    for (const [key, mark] of JSON.parse(localStorage.getItem(storageName) ?? '[]')) if (MARKS.includes(mark)) marks.set(key, mark);
  } catch {
    // A browser may refuse storage to a local file, and another page may have written something else there.
  }
}

function keepMarks() {
  try {
    localStorage.setItem(storageName, JSON.stringify([...marks]));
    return true;
  } catch {
    return false;
  }
}

// The interval that holds the true share in 95 % of all samples (Wilson 1927). `sample` may be a fraction.
function wilson(share, sample) {
  const z = 1.959964;
  const middle = (share + (z * z) / (2 * sample)) / (1 + (z * z) / sample);
  const half = (z / (1 + (z * z) / sample)) * Math.sqrt((share * (1 - share)) / sample + (z * z) / (4 * sample * sample));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

function tally() {
  const groups = new Map();
  for (const pair of pairs) {
    const group = groups.get(pair.group) ?? { pairs: 0, right: 0, wrong: 0, unsure: 0 };
    group.pairs += 1;
    const mark = marks.get(keyOf(pair));
    if (mark) group[mark] += 1;
    groups.set(pair.group, group);
  }
  return groups;
}

// Weigh the random samples of all kinds of copies by the number of their items. Kish's effective size gives the interval.
function overallOf(groups) {
  let items = 0;
  const sampled = [];
  for (const [group, count] of Object.entries(meta.review.population)) {
    const judged = (groups.get(group)?.right ?? 0) + (groups.get(group)?.wrong ?? 0);
    if (!judged || group === 'related') continue;
    sampled.push({ count, judged, share: groups.get(group).right / judged });
    items += count;
  }
  if (!items) return null;
  const share = sampled.reduce((sum, each) => sum + (each.share * each.count) / items, 0);
  const size = 1 / sampled.reduce((sum, each) => sum + (each.count / items) ** 2 / each.judged, 0);
  return { share, size, judged: sampled.reduce((sum, each) => sum + each.judged, 0) };
}

// Labels: documents in the form that `scrapy neardup eval` and `tune` read

class Sets {
  constructor() {
    this.parent = new Map();
  }

  find(item) {
    let root = item;
    while ((this.parent.get(root) ?? root) !== root) root = this.parent.get(root);
    this.parent.set(item, root);
    return root;
  }

  join(one, other) {
    this.parent.set(this.find(one), this.find(other));
  }
}

// Return the lines of labels, and what could not be exported.
async function labelsOf() {
  const copies = new Sets();
  const reports = new Sets();
  const items = new Set();
  const unsure = [];
  let withoutText = 0;
  const wrong = [];
  const reviewed = new Map();
  for (const pair of pairs) {
    const mark = marks.get(keyOf(pair));
    if (!mark) continue;
    if (mark === 'unsure') {
      unsure.push([idOf(pair.match), idOf(pair.item)]);
      continue;
    }
    const texts = await Promise.all([textOf(pair.match), textOf(pair.item)]);
    if (texts.some((each) => !each)) {
      withoutText += 1;
      continue;
    }
    items.add(pair.match).add(pair.item);
    reviewed.set(pair.item, [...(reviewed.get(pair.item) ?? []), { match: idOf(pair.match), mark }]);
    if (mark === 'wrong') wrong.push(pair);
    else {
      reports.join(pair.match, pair.item);
      if (verdictOf(pair.item) !== 'related') copies.join(pair.match, pair.item);
    }
  }
  const contradictions = wrong.filter((pair) => copies.find(pair.match) === copies.find(pair.item)).length;
  const lines = await linesOf(items, copies, reports, reviewed);
  if (lines.length && unsure.length) lines[0].unsure = unsure;
  return { lines, withoutText, contradictions, unsure: unsure.length };
}

async function linesOf(items, copies, reports, reviewed) {
  const ordered = [...items].sort((one, other) => data.time[one] - data.time[other] || one - other);
  const clusters = new Map();
  const events = new Map();
  for (const item of ordered) {
    if (!clusters.has(copies.find(item))) clusters.set(copies.find(item), idOf(item));
    if (!events.has(reports.find(item))) events.set(reports.find(item), idOf(item));
  }
  const lines = [];
  for (const item of ordered) {
    const cluster = clusters.get(copies.find(item));
    const line = { id: idOf(item), url: data.url[item], title: data.title[item], text: (await textOf(item)).join(''), cluster, story: events.get(reports.find(item)) };
    if (data.time[item] >= 0) line.time = isoOf(data.time[item]);
    if (data.languages[data.language[item]]) line.language = data.languages[data.language[item]];
    if (cluster === idOf(item)) line.original = true;
    if (reviewed.has(item)) line.review = reviewed.get(item);
    lines.push(line);
  }
  return lines;
}

// Take over the marks of exported labels. Return how many were known to this page and how many were not.
function importLabels(text) {
  const known = new Set(pairs.map(keyOf));
  const result = { taken: 0, unknown: 0, wrongLines: 0 };
  const take = (match, item, mark) => {
    const key = JSON.stringify([match, item]);
    if (!MARKS.includes(mark) || !known.has(key)) {
      result.unknown += 1;
      return;
    }
    marks.set(key, mark);
    result.taken += 1;
  };
  for (const row of text.split('\n').filter((each) => each.trim())) {
    try {
      const line = JSON.parse(row);
      for (const { match, mark } of line.review ?? []) take(match, line.id, mark);
      for (const [match, item] of line.unsure ?? []) take(match, item, 'unsure');
    } catch {
      result.wrongLines += 1;
    }
  }
  return result;
}
