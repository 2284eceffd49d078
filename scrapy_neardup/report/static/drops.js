// The items that were dropped or would be, those that lose most of their text first.

const dropPages = new Pager(byId('drop-list'), byId('drop-pages'), (item) => dropCard(item));
let openDrop = null; // the comparison

const heldShare = (item) => shareOf('share', item) ?? shareOf('similarity', item) ?? 1;
const lostPercent = (item) => 100 - Math.round(heldShare(item) * 100);

function showDrops() {
  const items = [];
  data.flags.forEach((flags, item) => { if (flags & (WOULD_DROP | DROPPED) && !(flags & AGAIN) && isOfDay(data.time[item], data.time[item])) items.push(item); });
  items.sort((one, other) => heldShare(one) - heldShare(other) || one - other);
  dropPages.show(items);
  const losing = items.filter((item) => lostPercent(item) > 0).length;
  byId('drops-status').textContent = items.length ? `${counted(losing, 'item')} with text of their own, ${(items.length - losing).toLocaleString('en')} without.` : '';
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
