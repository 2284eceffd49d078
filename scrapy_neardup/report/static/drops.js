// The items that were dropped or would be, those that lose most of their text first.

const dropPages = new Pager(byId('drop-list'), byId('drop-pages'), (item) => dropCard(item));
let openDrop = null; // the comparison

function showDrops() {
  const dropped = [];
  data.drop.forEach((flags, item) => { if (flags) dropped.push(item); });
  const held = (item) => (data.share[item] < 0 ? data.similarity[item] : data.share[item]);
  dropped.sort((one, other) => held(one) - held(other) || one - other);
  dropPages.show(dropped);
}

function dropCard(item) {
  const share = shareOf('share', item) ?? shareOf('similarity', item);
  const isDropped = data.drop[item] & DROPPED;
  const lost = share === null ? 0 : 100 - Math.round(share * 100);
  const card = element('li', {},
    button(element('bdi', {}, nameOf(item)), () => compareDrop(item, card), { class: 'plain', 'aria-label': `Compare: ${nameOf(item)}` }),
    element('p', { class: 'meta' }, sourceOf(item), ' · ', moment(data.time[item]), ` · ${isDropped ? 'dropped' : 'would be dropped'}`,
      share === null ? '' : `, ${percent(share)} of its text is in its match, ${lost}% ${isDropped ? 'was' : 'would be'} lost`),
    element('div', { class: 'side' }, badge(verdictOf(item), kindOf(item))));
  return card;
}

async function compareDrop(item, card) {
  openDrop?.node.remove();
  openDrop = new Comparison(item, 'Side by side', [button('Close', closeDrop, {}, 'Esc')]);
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
