// Show one part of the page at a time, and answer keys.

const PARTS = ['news', 'stories', 'drops', 'numbers'];
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
    if (name === 'stories' && argument) chooseList(argument);
    if (isTurned && location.hash) window.scrollTo({ top: 0, behavior: 'instant' });
  }
}

const PART_KEYS = { stories: (name) => openStory !== null && storyKey(name), drops: dropKey };

document.addEventListener('keydown', (event) => {
  if (isTyping(event)) return;
  if (PART_KEYS[current]?.(event.key)) event.preventDefault();
  else if (event.key === '/' && current === 'stories' && !openStory) {
    event.preventDefault();
    byId('f-text').focus();
  }
});

// Show one period everywhere.
function choosePeriod() {
  chosen.place = Number(byId('day').value);
  chosen.edges = meta.periods[chosen.place];
  for (const each of document.querySelectorAll('.period')) each.hidden = each.dataset.period !== byId('day').value;
  drawTimelines();
  filterStories();
  showDrops();
  if (openStory) showStory(openStory.story.start);
}

document.querySelectorAll('.scroll').forEach(watchOverflow);
document.querySelectorAll('header, .card, .figures > li').forEach(tellDatesOnce);
document.querySelectorAll('table.sortable').forEach((table) => makeSortable(table));
window.addEventListener('hashchange', route);
byId('day').addEventListener('input', choosePeriod);
byId('days').hidden = meta.periods.length < 2;
fillFilters();
choosePeriod();
route();
document.documentElement.dataset.ready = 'true';
