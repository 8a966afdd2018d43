/** The language of docs, comments, messages, test titles and commits: which words and forms are rejected, and their replacements. */
type Rule = readonly [pattern: RegExp, instead: string, example: string]

const TABLE = `
whoever, whom, somebody, someone, nobody, everybody, anybody, no one → name the actor
can't, won't, doesn't, don't, isn't, aren't, didn't, hasn't, it's, that's, there's, they're, we've → write both words
behaviour, colour, favour, honour, neighbour, labelled, cancelled, centre, catalogue, licence → the American spelling
recognise, recognised, serialise, normalise, organisation, optimise, analyse, artefact, whilst → the American spelling
verdict, verdicts, judge, judged, doubt, doubts → decision, decide, hold cause
lane, lanes, lister, mend, mended, grave, bury, nonsense → per-node slot, pager, repair, tombstone, invalid response
is dear, dearer, dearest → is expensive
as what it → how it
lets no → rejects
taken to be → counts as
is told, are told, was told, be told, that Lodestone knows → receives, reports, supported
`

export const phrases = [...TABLE.matchAll(/(.+) → (.+)/g)].flatMap(([, words = '', instead = '']) =>
  words.split(', ').map((phrase): Rule => {
    const pattern = new RegExp(`\\b${phrase.replace("'", "['’]")}\\b(?! apart| from| by)`, 'i')
    return [pattern, instead, `A ${phrase} B.`]
  }),
)

export const forms: readonly Rule[] = [
  [/(?:^|[,;:] |\b(?:and|or|but|by|to|for|than|that|says?) )who\b(?=[^?]*$)/i, 'name the actor', 'Who loses waits.'],
  [/(?:^|[,;:] )others (?:wait|are|do|have|may|can|will)\b/i, 'name the actor', 'One runs, others wait.'],
  [/^what (?!if\b)[^,]*?\b(?:is|are|was|has|had|does|can|failed)\b(?=[^?]*$)/i, 'name the thing', 'What failed ends.'],
  [/^(?:Was|Were|Is|Are|Had) [^?]*,[^?]*$/, 'if …', 'Was it scheduled elsewhere, it was not called.'],
]

/** For a line of `git log`: hash, parents, a tab, the subject. */
export const subjectForms: readonly Rule[] = [
  [/^\S+ \S+ \S/, 'rebase instead of a merge', 'a b c\tMerge two branches'],
  [/\t.{73}/, 'at most 72 characters', `a b\tAdd ${'x'.repeat(69)}`],
  [/[.!…]$/, 'no full stop', 'a b\tAdd a field.'],
  [/\t[^A-Z]/, 'a capital letter', 'a b\tadd a field'],
  [
    /\t(?:the|an?|no|not|its?|th[aeio]\w+|wh\w+|i[fn]|on|at|of|for|by|to|with) /i,
    'an imperative',
    'a b\tA claim counts',
  ],
  [/\t(?!\S*(?:ss|eed|bring|focus) |embed |shed )\S*(?:s|ed|ing) /i, 'an imperative', 'a b\tAdds a field'],
]

export const faultsIn = (text: string, rules: readonly Rule[]) =>
  rules.filter(([pattern]) => pattern.test(text)).map(([, instead]) => `${instead}: ${text}`)

/** Returns the faults of a paragraph, item, cell, comment or message. A message may join sentences by semicolons. */
export function faultsOf(text: string, isMessage = false): string[] {
  const end = isMessage ? /(?<=[.!?;]["')]*)\s+/ : /(?<=[.!?]["')]*)(?<!\b(?:e\.g|i\.e|etc|vs)\.)\s+/
  return text.split(end).flatMap((sentence) => {
    const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
    const long = words.length > 25 ? [`${words.length} words, at most 25: ${sentence}`] : []
    return [...long, ...faultsIn(sentence, [...phrases, ...forms])]
  })
}
