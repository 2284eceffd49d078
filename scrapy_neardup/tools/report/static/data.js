// The data of the page. An item is named by its position in `items`.

const meta = JSON.parse(document.getElementById('meta').textContent);
const { items, stories, texts } = meta;

for (const story of stories) {
  const words = itemsOf(story).flatMap((item) => [items[item].title ?? '', sourceOf(item)]);
  story.searched = [...new Set(words)].join('\n').toLowerCase(); // that a search finds
}

// Return an item's text, or null if the page does not have it.
const textOf = (item) => texts[item] ?? null;

function itemsOf(story) {
  return Array.from({ length: story.end - story.start }, (_, place) => story.start + place);
}

function sourceOf(item) {
  return items[item].source ?? '';
}

const isAgain = (item) => items[item].again === true; // the page came again unchanged
// A print page or the like: it came again unchanged, under another address than its match.
const isVariant = (item) => kindOf(item) === 'revisit' && items[item].match !== undefined && items[items[item].match].url !== items[item].url;
const isDrop = (item) => (items[item].drops || items[item].dropped) === true;
const isOnOneSite = (item) => items[item].isOnOneSite === true; // no other site has a copy or an update of it
const verdictOf = (item) => items[item].verdict;
const kindOf = (item) => items[item].kind ?? '';
const timeOf = (item) => items[item].time ?? null;
const nameOf = (item) => items[item].title || items[item].url || `item ${item + 1}`;
const shareOf = (column, item) => items[item][column] ?? null;

// The chosen period: its place, and its beginning and end; true for the whole time.
const chosen = { place: 0, edges: meta.periods[0] };
const isWithin = (time) => chosen.edges === true || (time !== null && time >= chosen.edges[0] && time < chosen.edges[1]);
const isTold = (item) => isWithin(timeOf(item));

// What the period tells of a story: its headline then, its size, and how many print it.
const toldOf = (story) => story.told[chosen.place] ?? story;

// The items of a story that count. A story of nothing but repeated visits counts its first item.
function countedItems(story) {
  const found = itemsOf(story).filter((item) => !isAgain(item));
  return (found.length ? found : [story.start]).filter(isTold);
}

// The first and the last time of the items that count, or nulls.
function spanOf(story) {
  const times = countedItems(story).map(timeOf).filter((time) => time !== null);
  return times.length ? [Math.min(...times), Math.max(...times)] : [null, null];
}

const storyOf = (item) => stories.findLast((story) => story.start <= item);

// Why an item is in its story, in words.
const whyOf = (item) => `${reasonOf(item)}${isOnOneSite(item) ? '; on one site only' : ''}`;

function reasonOf(item) {
  const verdict = verdictOf(item);
  const kind = kindOf(item);
  const changes = items[item].changes;
  if (verdict === 'duplicate') return isVariant(item) ? 'the same page under another address' : `copy${kind ? `, ${KIND_MEANS[kind]}` : ''}`;
  if (verdict === 'update') return changes ? `figures changed: ${changes}` : 'the same page with changed text';
  if (verdict === 'related') return whyRelated(item);
  if (verdict === 'unchecked') return `not judged: ${items[item].reason ?? 'unknown reason'}`;
  return verdict === 'original' ? 'the first version we saw' : 'no verdict';
}

function whyRelated(item) {
  if (kindOf(item) === 'translation') return 'the same article in another language';
  return isSimilar(item) ? 'similar text, not a copy' : 'the same event in other words';
}

// The score of an item and its match, null if the feed does not say.
const textScore = (item) => shareOf(meta.measure === 'containment' ? 'containment' : 'similarity', item);

// Whether the text of a related item is similar enough to join without its topic. Feeds of old versions do not say.
const isSimilar = (item) => kindOf(item) !== 'translation' && (textScore(item) ?? 0) >= meta.relatedThreshold;

// The score by which the texts were compared, if it was needed.
function scoreText(item) {
  const score = textScore(item);
  const isByText = ['duplicate', 'update'].includes(verdictOf(item)) ? !['exact', 'revisit'].includes(kindOf(item)) : isSimilar(item);
  if (score === null || !isByText) return '';
  return meta.measure === 'containment' ? `; ${percent(score)} of the shorter text is in the longer one` : `; similarity ${percent(score)}`;
}

const KIND_MEANS = {
  exact: 'the same text',
  near: 'about the same length',
  abridged: 'shorter than its match',
  extended: 'longer than its match',
  revisit: 'the same page again',
};
