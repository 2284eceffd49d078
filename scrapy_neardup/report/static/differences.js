// The differences of two texts, as passages that a reader takes for one change.

const PATIENCE = 400; // milliseconds for the words of one pair; then whole lines are compared
const MOST_EDITS = 4000;
// A number, a character of a script written without spaces, a word or a single mark, each with the spaces behind it; or a line end.
const TOKEN =
  /(?:\p{N}+(?:[.,:]\p{N}+)*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|\S)[^\S\n]*|\n|[^\S\n]+/gu;
const isWord = /[\p{L}\p{N}]/u;
const endsSentence = /[.!?。！？]["'”’)]?\s*$/u;
const MOST_SLIDES = 200; // tokens

const isSame = ({ text: one }, { text: other }) => one === other || (one.trimEnd() !== '' && one.trimEnd() === other.trimEnd());
const joined = (tokens) => tokens.map((token) => token.text).join('');

// Return the tokens of a text. Each has in `before` the passages in front of it that the plugin left out: they are shown,
// but not compared. A last token without a text has those at the end.
function tokensOf({ text, short }) {
  const tokens = [];
  let before = [];
  let end = 0;
  const add = (found) => {
    tokens.push({ text: found, before });
    before = [];
  };
  for (const [start, stop] of passagesOf(text, short)) {
    (text.slice(end, start).match(TOKEN) ?? []).forEach(add);
    before.push(text.slice(start, stop));
    end = stop;
  }
  (text.slice(end).match(TOKEN) ?? []).forEach(add);
  if (tokens.at(-1)?.text !== '\n') add('\n'); // so that the last line can be compared with a line in the middle
  add('');
  return tokens;
}

// Return the passages that were left out. Those with only spaces between them are one, and a whole line has its line end.
function passagesOf(text, short) {
  const passages = [];
  for (const [start, end] of short) {
    const last = passages.at(-1);
    if (last && text.slice(last[1], start).trim() === '') last[1] = end;
    else passages.push([start, end]);
  }
  return passages.map(([start, end]) => [start, (start === 0 || text[start - 1] === '\n') && text[end] === '\n' ? end + 1 : end]);
}

// Return tokens that are whole lines.
function linesOf(tokens) {
  const lines = [{ text: '', before: [] }];
  for (const { text, before } of tokens) {
    const line = lines.at(-1);
    line.text += text;
    line.before.push(...before);
    if (text === '\n') lines.push({ text: '', before: [] });
  }
  return lines;
}

// Return runs {same, left, right} of tokens: what both texts have at this place (`same`), or what only one of them has.
function differencesOf(left, right) {
  return runsOf(left, right) ?? runsOf(linesOf(left), linesOf(right)) ?? [{ same: false, left, right }];
}

function runsOf(left, right) {
  const found = Diff.diffArrays(left, right, { timeout: PATIENCE, maxEditLength: MOST_EDITS, comparator: isSame });
  if (!found) return null;
  const runs = [{ same: true, left: [], right: [] }];
  const place = { left: 0, right: 0 };
  const take = (side, tokens, count) => {
    place[side] += count;
    return tokens.slice(place[side] - count, place[side]);
  };
  for (const part of found) {
    const same = !part.added && !part.removed;
    if (runs.at(-1).same !== same) runs.push({ same, left: [], right: [] });
    if (!part.added) runs.at(-1).left.push(...take('left', left, part.count));
    if (!part.removed) runs.at(-1).right.push(...take('right', right, part.count));
  }
  for (let run = 1; run + 1 < runs.length; run += 1) slide(runs[run - 1], runs[run], runs[run + 1]);
  return joinRuns(joinRuns(runs.filter((run) => run.left.length || run.right.length), isMark), isIsland);
}

// Let a passage that only one text has begin with a line or a sentence, if the words around it repeat: of "A B A C", "B A"
// may be deleted as well as "A B".
function slide(before, run, after) {
  const side = run.left.length ? 'left' : 'right';
  if (run.same || (run.left.length && run.right.length)) return;
  const other = side === 'left' ? 'right' : 'left';
  // Move the last token of one run to the beginning of the next one, or back.
  const back = () => {
    run[side].unshift(before[side].pop());
    after[side].unshift(run[side].pop());
    after[other].unshift(before[other].pop());
  };
  const forward = () => {
    run[side].push(after[side].shift());
    before[side].push(run[side].shift());
    before[other].push(after[other].shift());
  };
  const fit = () => {
    const token = before[side].at(-1)?.text ?? '\n';
    return (token === '\n' ? 4 : endsSentence.test(token) ? 2 : 0) + (run[side].at(-1).text === '\n' ? 1 : 0);
  };
  let at = 0;
  const fits = new Map([[0, fit()]]);
  for (; at > -MOST_SLIDES && before[side].at(-1)?.text === run[side].at(-1).text; fits.set(at, fit())) {
    back();
    at -= 1;
  }
  for (; at < MOST_SLIDES && after[side][0]?.text === run[side][0].text; fits.set(at, fit())) {
    forward();
    at += 1;
  }
  const best = [...fits].sort(([one, oneFit], [two, twoFit]) => twoFit - oneFit || Math.abs(one) - Math.abs(two))[0][0];
  for (; at > best; at -= 1) back();
}

const wordsOf = (run) => Math.max(...[run.left, run.right].map((tokens) => joined(tokens).split(/\s+/).filter((word) => isWord.test(word)).length));

// Whether two changes have nothing but a space or comma between them.
const isMark = (last, run) => wordsOf(run) === 0;
// Whether one or two words stand between two long passages.
const isIsland = (last, run, next) => wordsOf(run) <= 2 && wordsOf(last) >= 3 * wordsOf(run) && wordsOf(next) >= 3 * wordsOf(run);

// Join changes that a reader takes for one: a passage reads better than its words one by one.
function joinRuns(runs, isGap) {
  const kept = [];
  for (let place = 0; place < runs.length; place += 1) {
    const run = runs[place];
    const last = kept.at(-1);
    const next = runs[place + 1];
    if (last && !last.same && (!run.same || (next && !joined(run.left).includes('\n') && isGap(last, run, next)))) {
      last.left.push(...run.left);
      last.right.push(...run.right);
    } else {
      kept.push(run);
    }
  }
  return kept;
}
