// The marks of a review: kept in this browser, counted, and exported as labels.

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

// Labels: documents in the form that `scrapy neardup eval` reads

// Give two items, and all that have the label of one of them, the same label.
function join(labels, one, other) {
  const replaced = labels.get(other);
  for (const [item, label] of labels) if (label === replaced) labels.set(item, labels.get(one));
}

// Return the lines of labels, and what could not be exported. The label of an item is an item.
function labelsOf() {
  const [copies, reports] = [new Map(), new Map()];
  let withoutText = 0;
  for (const pair of pairs) {
    const mark = marks.get(keyOf(pair));
    const both = [pair.match, pair.item];
    if (!mark || mark === 'unsure') continue;
    if (both.map(textOf).includes(null)) withoutText += 1;
    else {
      for (const item of both.filter((each) => !copies.has(each))) [copies, reports].forEach((labels) => labels.set(item, item));
      if (mark === 'right') join(reports, ...both);
      if (mark === 'right' && verdictOf(pair.item) !== 'related') join(copies, ...both);
    }
  }
  const ordered = [...copies.keys()].sort((one, other) => (timeOf(one) ?? 0) - (timeOf(other) ?? 0) || one - other);
  const lines = ordered.map((item) => ({
    id: idOf(item),
    url: items[item].url,
    title: items[item].title,
    text: textOf(item).join(''),
    cluster: idOf(copies.get(item)),
    story: idOf(reports.get(item)),
    time: timeOf(item) === null ? undefined : isoOf(timeOf(item)),
    language: items[item].language,
  }));
  return { lines, withoutText };
}
