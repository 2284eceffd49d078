// The data of the page. The columns of items and the chunks of texts are unpacked when they are needed.

const meta = JSON.parse(document.getElementById('meta').textContent);
const reasons = new Map(Object.entries(meta.reasons)); // why an item joined by its topic, by url
const WOULD_DROP = 1;
const DROPPED = 2;
const AGAIN = 4; // the page came again unchanged

const bytesOf = (base64) => Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function unpack(id) {
  const bytes = bytesOf(document.getElementById(id).textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

const chunks = new Map(); // chunk -> promise of its texts

// Return the passages of an item's text, in turn compared and left out, or null if the page does not have its text.
async function textOf(item) {
  const chunk = meta.chunkOf[item];
  if (chunk === undefined) return null;
  if (!chunks.has(chunk)) chunks.set(chunk, unpack(`texts-${chunk}`));
  return (await chunks.get(chunk))[item];
}

// One story of the list. Its items are those from `start` to `end`, the earliest first. All its counts leave out the
// visits of pages that had not changed. A story of nothing else counts its first item.
class Story {
  constructor(start, end, headline) {
    Object.assign(this, { start, end, headline, first: data.time[start], last: data.time[start], verdicts: 0, updates: 0, copies: 0, size: 0, visits: 0 });
    const owners = new Set();
    for (let item = start; item < end; item += 1) {
      if (isAgain(item) && (item > start || end > start + 1)) {
        this.visits += 1;
        continue;
      }
      this.size += 1;
      this.last = Math.max(this.last, data.time[item]);
      if (sourceOf(item)) owners.add(data.owners[data.source[item]]);
      this.verdicts |= 1 << data.verdict[item];
      this.updates += verdictOf(item) === 'update';
      this.copies += verdictOf(item) === 'duplicate';
    }
    this.size = Math.max(1, this.size);
    this.sources = owners.size;
    const words = itemsOf(this).flatMap((item) => [data.title[item], sourceOf(item)]);
    this.words = [...new Set(words)].join('\n').toLowerCase(); // that a search finds
  }

  get length() {
    return this.end - this.start;
  }
}

let data = null;
let stories = [];

async function loadData() {
  data = await unpack('index');
  const { starts } = data;
  const items = data.title.length;
  stories = [];
  for (let place = 0; place + 1 < starts.length; place += 1) {
    stories.push(new Story(starts[place], starts[place + 1], data.headline[place]));
  }
  for (let item = starts[starts.length - 1]; item < items; item += 1) {
    stories.push(new Story(item, item + 1, data.title[item]));
  }
}

const itemsOf = (story) => Array.from({ length: story.length }, (_, place) => story.start + place);
const isAgain = (item) => (data.flags[item] & AGAIN) !== 0;
const verdictOf = (item) => meta.verdicts[data.verdict[item]];
const sourceOf = (item) => data.sources[data.source[item]];
const kindOf = (item) => (data.kind[item] < 0 ? '' : meta.kinds[data.kind[item]]);
const nameOf = (item) => data.title[item] || data.url[item] || `item ${item + 1}`;
const shareOf = (column, item) => (data[column][item] < 0 ? null : data[column][item] / 1000);

const storyOf = (item) => stories.findLast((story) => story.start <= item);

// Why an item is in its story, in words.
function whyOf(item) {
  const verdict = verdictOf(item);
  const kind = kindOf(item);
  const changes = data.changes[item];
  if (verdict === 'duplicate') return `copy${kind ? `, ${KIND_MEANS[kind]}` : ''}`;
  if (verdict === 'update') return changes ? `figures changed: ${changes.replaceAll(' -> ', '\u00a0→\u00a0')}` : 'the same page with changed text';
  if (verdict === 'related') return whyRelated(item);
  if (verdict === 'unchecked') return `not judged: ${data.reasons[data.reason[item]] || 'unknown reason'}`;
  return verdict === 'original' ? 'the first of its kind' : 'no verdict';
}

function whyRelated(item) {
  if (kindOf(item) === 'translation') return 'the same article in another language';
  if (isSimilar(item)) return 'similar text, not a copy';
  return reasons.get(data.url[item]) ?? 'the same event in other words';
}

// The score of an item and its match by the measure of the preset, null if the feed does not say.
const textScore = (item) => shareOf('score', item);

// Whether the text of a related item is similar enough to join without its topic. Feeds of old versions do not say.
const isSimilar = (item) => (textScore(item) ?? 0) >= meta.relatedThreshold;

// The score by which the texts were compared, if it was needed.
function scoreText(item) {
  const score = textScore(item);
  const isByText = ['duplicate', 'update'].includes(verdictOf(item)) ? !['exact', 'revisit'].includes(kindOf(item)) : isSimilar(item);
  return score !== null && isByText ? `, ${MEASURE_NAMES[meta.measure] ?? 'similarity'} ${percent(score)}` : '';
}

const MEASURE_NAMES = { containment: 'containment', larger: 'share of the larger text' };

const KIND_MEANS = {
  exact: 'the same text',
  near: 'about the same length',
  abridged: 'its match holds nearly all of it',
  extended: 'it adds to its match',
  revisit: 'the same page again',
};
