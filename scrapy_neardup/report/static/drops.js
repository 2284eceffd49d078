// The items that were dropped or would be, those that lose most of their text first. Those that lose nothing are folded.

const dropPages = new Pager(byId('drop-list'), byId('drop-pages'), (item) => dropCard(item));
let openDrop = null; // the comparison
let isDropsUnfolded = false;

const heldShare = (item) => shareOf('share', item) ?? shareOf('similarity', item) ?? 1;
const lostPercent = (item) => 100 - Math.round(heldShare(item) * 100);

function showDrops() {
  const items = [];
  data.flags.forEach((flags, item) => { if (flags & (WOULD_DROP | DROPPED) && !(flags & AGAIN) && isOfDay(data.time[item], data.time[item])) items.push(item); });
  items.sort((one, other) => heldShare(one) - heldShare(other) || one - other);
  const losing = items.filter((item) => lostPercent(item) > 0);
  const folded = items.length - losing.length;
  const shown = isDropsUnfolded || !losing.length ? items : losing;
  dropPages.show(shown);
  byId('drops-status').textContent = items.length ? `${counted(losing.length, 'item')} with text of their own, ${folded.toLocaleString('en')} without.` : '';
  const more = byId('drops-folded');
  more.hidden = shown.length === items.length;
  more.firstElementChild.textContent = `Show ${counted(folded, 'item')} of which nothing ${data.flags.some((flags) => flags & DROPPED) ? 'was' : 'would be'} lost`;
  more.firstElementChild.onclick = () => { isDropsUnfolded = true; showDrops(); dropPages.list.querySelector('button')?.focus(); };
}

function dropCard(item) {
  const isDropped = data.flags[item] & DROPPED;
  const lost = lostPercent(item);
  const words = `${lost}% ${isDropped ? 'was' : 'would be'} lost`;
  const card = element('li', {},
    button(element('bdi', {}, nameOf(item)), () => compareDrop(item, card), { class: 'plain', 'aria-label': `Compare: ${nameOf(item)}` }),
    element('p', { class: 'meta' }, sourceOf(item), ' · ', moment(data.time[item]), ' · ', element('span', { class: lost ? 'lost' : '' }, words), `, ${percent(heldShare(item))} of its text is in its match`),
    element('div', { class: 'side' }, badge(verdictOf(item), kindOf(item))));
  return card;
}

async function compareDrop(item, card) {
  openDrop?.node.remove();
  openDrop = new Comparison(item, 'Side by side', [button('×', closeDrop, { class: 'close', 'aria-label': 'Close' }, 'Esc')]);
  card.append(openDrop.node);
  await openDrop.ready;
  openDrop.heading.focus({ preventScroll: true });
  card.scrollIntoView({ block: 'start' });
}

function closeDrop() {
  const opened = openDrop.node.parentElement;
  openDrop.node.remove();
  openDrop = null;
  opened?.querySelector('button').focus();
}

function dropKey(name) {
  if (openDrop?.key(name)) return true;
  if (name !== 'Escape' || !openDrop) return false;
  closeDrop();
  return true;
}
