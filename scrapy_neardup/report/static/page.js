// Show one part of the page at a time, and answer keys.

const PARTS = ['news', 'stories', 'drops', 'review', 'numbers'];
let current = '';

function route() {
  const [name, argument] = location.hash.slice(1).split('/');
  const part = name === 'story' ? 'stories' : PARTS.includes(name) ? name : 'news';
  const story = name === 'story' && /^\d+$/.test(argument ?? '') ? Number(argument) : -1;
  const isTurned = part !== current || name === 'story';
  current = part;
  for (const id of PARTS) byId(id).hidden = id !== part;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${part}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const isOpen = story >= 0 && story < items.length;
  for (const id of ['stories-about', 'filters', 'stories-legend', 'stories-status', 'story-list', 'story-pages']) byId(id).hidden = isOpen;
  byId('story').hidden = !isOpen;
  if (isOpen) showStory(story);
  else {
    openStory = null;
    if (isTurned && location.hash) window.scrollTo({ top: 0, behavior: 'instant' });
  }
}

const PART_KEYS = { stories: (name) => openStory !== null && storyKey(name), review: reviewKey, drops: dropKey };

document.addEventListener('keydown', (event) => {
  if (isTyping(event)) return;
  if (PART_KEYS[current]?.(event.key)) event.preventDefault();
  else if (event.key === '/' && current === 'stories' && !openStory) {
    event.preventDefault();
    byId('f-text').focus();
  }
});

// The chosen day. Its news are in the page; stories and drops of other days are left out.
function isOfDay(first, last) {
  const [start, end] = meta.periods[byId('day').value];
  return (start === null || (last !== null && last >= start)) && (end === null || (first !== null && first < end));
}

function startDays() {
  const news = document.querySelectorAll('.news');
  byId('day').addEventListener('input', () => {
    news.forEach((each, place) => { each.hidden = String(place) !== byId('day').value; });
    filterStories();
    showDrops();
  });
  byId('days').hidden = news.length < 2;
}

document.querySelectorAll('.scroll').forEach(watchOverflow);
document.querySelectorAll('header, .card, .figures > li').forEach(tellDatesOnce);
document.querySelectorAll('table.sortable').forEach((table) => makeSortable(table));
window.addEventListener('hashchange', route);
drawTimelines();
fillFilters();
filterStories();
startDays();
showDrops();
startReview();
route();
document.documentElement.dataset.ready = 'true';
