/** Suggests the closest known word for a mistyped one. */

/** ` (did you mean X?)` if a known word is close enough, else empty. */
export function suggest(word: string, known: Iterable<string>): string {
  const [closest] = [...known]
    .flatMap((candidate) => wordForms(candidate).map((form, i) => ({ candidate, form, isPart: i })))
    // The distance is at least the difference in length. This also limits the cost of a long word.
    .filter(({ form }) => Math.abs(form.length - word.length) <= editLimit(form))
    .map((close) => ({ ...close, distance: distance(word.toLowerCase(), close.form.toLowerCase()) }))
    .filter(({ form, distance: d }) => d <= editLimit(form))
    .sort((a, b) => a.distance - b.distance || a.isPart - b.isPart)
  return closest ? ` (did you mean ${closest.candidate}?)` : ''
}

/** The word, and its part before a hyphen: `iceberg` means `iceberg-rest`. */
function wordForms(candidate: string): string[] {
  const [part = ''] = candidate.split('-', 1)
  return part.length < 4 || part === candidate ? [candidate] : [candidate, part]
}

/** The most edits between a word and the known word that it is likely to mean. */
function editLimit(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 3))
}

/** Levenshtein's edit distance, with two rows of memory: an object can have many mistyped words. */
function distance(a: string, b: string): number {
  let row = Uint16Array.from({ length: b.length + 1 }, (_, i) => i)
  let next = new Uint16Array(b.length + 1)
  for (let i = 0; i < a.length; i++) {
    next[0] = i + 1
    for (let j = 0; j < b.length; j++) {
      const substitute = (row[j] ?? 0) + (a.charCodeAt(i) === b.charCodeAt(j) ? 0 : 1)
      next[j + 1] = Math.min(substitute, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1)
    }
    ;[row, next] = [next, row]
  }
  return row[b.length] ?? 0
}
