/** Every rule finds what it is for, and leaves alone what is written instead. */
import { describe, expect, test } from 'vitest'
import { rules } from './rules.ts'
import { findingsOf, sentencesOf, wordsOf } from './sentences.ts'

const rulesFoundIn = (text: string, message = false) =>
  findingsOf([{ line: 1, text, message }]).map(({ rule }) => rule.replace(/: ".*/, ''))

const wrong: Record<string, string[]> = {
  whoever: ['Whoever may write bindings.', 'Releases bindings of whom it is.'],
  'indefinite person': ['Nobody reads it.', 'It waits until somebody writes.', 'a node that no one needs'],
  'who as a subject': ['Who loses a race reads again.', 'This says who is first.', 'If it ends, who waits goes on.'],
  'others as a subject': ['Others wait.', 'The first one runs, others wait; others do not.'],
  'what is … as a subject': [
    'What is stored stays.',
    'What failed is tried again.',
    'What the loop writes is checked.',
  ],
  'inverted condition': ['Was it scheduled elsewhere at first, Lodestone was not called.'],
  contraction: ['It doesn’t matter.', "It can't.", "That's all.", "They're here."],
  'British spelling': ['The behaviour', 'a labelled node', 'an unrecognised field', 'the catalogue', 'It is analysed.'],
  verdict: ['the verdict'],
  judge: ['It is judged by its age.'],
  doubt: ['a doubt'],
  lane: ['the lanes of a node'],
  mend: ['It is mended at once.'],
  grave: ['the grave of an object', 'a buried key'],
  nonsense: ['The system says nonsense.'],
  question: ['a question to the catalog'],
  sight: ['the sight of a volume'],
  draft: ['the draft of a volume'],
  twin: ['a kind and its twin'],
  lister: ['The lister reads pages.'],
  notes: ['its notes on bindings', 'It is noted on the binding.'],
  facts: ['the facts of a review', 'the figures of a run'],
  turns: ['They are decided in one turn.'],
  'held in a cache': ['objects held in memory', 'every held kind'],
  leading: ['The replica that is leading.'],
  floor: ['a floor imports lower floors'],
  'has its say': ['A deleted claim has its say for five more seconds.'],
  'is no news': ['An object that was there at the start is no news.'],
  'cannot be meant': ['claims that cannot be meant'],
  'as what': ['as what it is mounted'],
  'is not well': ['data system is not well', 'read with the wrong eyes', 'before it leaves the house'],
  'is dear': ['A system call is dear.'],
  'be it': ['at once, be it that the kubelet says so'],
  'cannot be had': ['a volume cannot be had'],
  'lets no': ['The API server lets no Pod be made.'],
  'wrong words': ['the words or the configuration are wrong', 'Throw it for wrong words.'],
  'stands in': ['The list stands in the README.'],
  'lets go of': ['lets go of what it held'],
  'for want of': ['held for the want of one'],
  'taken to be': ['It is taken to be alone again.'],
  'is told to': ['Room on a node is told to those who may go there.'],
  'that Lodestone knows': ['is not a field that Lodestone knows'],
  'comes alone': ['A request that comes alone.'],
}

test('every rule has an example', () => {
  expect(Object.keys(wrong)).toEqual(rules.map(({ name }) => name))
})

test.each(Object.entries(wrong).flatMap(([rule, texts]) => texts.map((text) => ({ rule, text }))))(
  '$rule: $text',
  ({ rule, text }) => {
    expect(rulesFoundIn(text)).toContain(rule)
  },
)

test.each([
  'Retry waiting VolumeManagers when a node frees disk.',
  'Do not emit Events for objects of the initial list.',
  'Honor a deleted claim for 5 s so that its workload does not move first.',
  'A single request is answered immediately.',
  'invalid arguments or configuration',
  'Deletes data only after its node label is removed and no pod uses it.',
  'DataSource NAME exists but describes different data',
  'releases bindings that were held for ClaimMissing',
  'If the workload was scheduled elsewhere first, Lodestone was not called.',
  'A user who may create pods may mount the data.',
  'What is the location of this data?',
  'CODE stands in for the API server.',
  'The release notes name the version.',
])('is left alone: %s', (text) => {
  expect(rulesFoundIn(text)).toEqual([])
})

describe('sentences', () => {
  const words = (count: number) => `${Array.from({ length: count }, () => 'word').join(' ')}.`

  test('have at most 25 words', () => {
    expect(rulesFoundIn(words(25))).toEqual([])
    expect(rulesFoundIn(words(26))).toEqual(['26 words'])
    expect(rulesFoundIn(`${words(25)} ${words(25)}`)).toEqual([])
  })

  test('of a message are joined by semicolons', () => {
    const joined = `${words(20).slice(0, -1)}; ${words(20)}`
    expect(rulesFoundIn(joined)).toEqual(['40 words'])
    expect(rulesFoundIn(joined, true)).toEqual([])
  })

  test('do not end at an abbreviation', () => {
    expect(sentencesOf({ line: 1, text: 'A path, e.g. the root. Another one.' })).toEqual([
      'A path, e.g. the root.',
      'Another one.',
    ])
  })

  test('are counted by what has a letter or a digit', () => {
    expect(wordsOf('a → b, 3 × CODE …')).toBe(4)
  })
})
