// The differences of two texts, as passages that a reader takes for one change.

const PATIENCE = 400; // milliseconds for the words of one pair; then whole lines are compared
const MOST_EDITS = 4000;
// A number, a character of a script written without spaces, a word or a single mark, each with the spaces behind it; or a line end.
const TOKEN =
  /(?:\p{N}+(?:[.,:]\p{N}+)*|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}_]+(?:['’-][\p{L}\p{M}\p{N}_]+)*|\S)[^\S\n]*|\n|[^\S\n]+/gu;
const tokensOf = (text) => text.match(TOKEN) ?? [];
const linesOfText = (text) => text.split(/(?<=\n)/);
const isWord = /[\p{L}\p{N}]/u;
const endsSentence = /[.!?。！？]["'”’)]?\s*$/u;
const isSame = (one, other) => one === other || (one !== '\n' && other !== '\n' && one.trimEnd() === other.trimEnd());
const MOST_SLIDES = 200; // tokens

// Return runs {same, left, right}: what both texts have at this place (`same`), or what only one of them has.
function differencesOf(left, right) {
  return runsOf(tokensOf(left), tokensOf(right)) ?? runsOf(linesOfText(left), linesOfText(right)) ?? [{ same: false, left, right }];
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
    const run = { same: !part.added && !part.removed, left: [], right: [] };
    if (!part.added) run.left = take('left', left, part.count);
    if (!part.removed) run.right = take('right', right, part.count);
    const last = runs[runs.length - 1];
    if (last.same === run.same) {
      last.left = last.left.concat(run.left);
      last.right = last.right.concat(run.right);
    } else {
      runs.push(run);
    }
  }
  for (let run = 1; run + 1 < runs.length; run += 1) slide(runs[run - 1], runs[run], runs[run + 1]);
  const written = runs.map(({ same, left: one, right: other }) => ({ same, left: one.join(''), right: other.join('') }));
  return joinRuns(joinRuns(written.filter((run) => run.left || run.right), isMark), isIsland);
}

// Let a passage that only one text has begin with a line or a sentence, if the words around it repeat: of "A B A C", "B A"
// may be deleted as well as "A B".
function slide(before, run, after) {
  const side = run.left.length ? 'left' : 'right';
  if (run.same || (run.left.length && run.right.length)) return;
  const forward = () => {
    run[side].push(after[side].shift());
    before[side].push(run[side].shift());
    const other = side === 'left' ? 'right' : 'left';
    before[other].push(after[other].shift());
  };
  const back = () => {
    run[side].unshift(before[side].pop());
    after[side].unshift(run[side].pop());
    const other = side === 'left' ? 'right' : 'left';
    after[other].unshift(before[other].pop());
  };
  const fit = () => {
    const token = before[side].at(-1) ?? '\n';
    return (token === '\n' ? 4 : endsSentence.test(token) ? 2 : 0) + (run[side].at(-1) === '\n' ? 1 : 0);
  };
  let at = 0;
  const fits = new Map([[0, fit()]]);
  for (; at > -MOST_SLIDES && before[side].length && before[side].at(-1) === run[side].at(-1); fits.set(at, fit())) {
    back();
    at -= 1;
  }
  for (; at < MOST_SLIDES && after[side].length && after[side][0] === run[side][0]; fits.set(at, fit())) {
    forward();
    at += 1;
  }
  const best = [...fits].sort(([one, oneFit], [other, otherFit]) => otherFit - oneFit || Math.abs(one) - Math.abs(other))[0][0];
  for (; at > best; at -= 1) back();
}

const wordsOf = (run) => Math.max(...[run.left, run.right].map((text) => text.split(/\s+/).filter((word) => isWord.test(word)).length));

// Whether two changes have nothing but a space or comma between them.
const isMark = (last, run) => wordsOf(run) === 0;
// Whether one or two words stand between two long passages.
const isIsland = (last, run, next) => wordsOf(run) <= 2 && wordsOf(last) >= 3 * wordsOf(run) && wordsOf(next) >= 3 * wordsOf(run);

// Join changes that a reader takes for one: a passage reads better than its words one by one.
function joinRuns(runs, isGap) {
  const joined = [];
  for (let place = 0; place < runs.length; place += 1) {
    const run = runs[place];
    const last = joined[joined.length - 1];
    const next = runs[place + 1];
    if (last && !last.same && (!run.same || (next && !run.left.includes('\n') && isGap(last, run, next)))) {
      last.left += run.left;
      last.right += run.right;
    } else {
      joined.push({ ...run });
    }
  }
  return joined;
}
