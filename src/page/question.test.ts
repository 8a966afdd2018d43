import { expect, test } from 'vitest'
import { readWhatIf, validateWhatIf } from '../cli/ui/questions/read-what-if.ts'
import { MAX_SUPPOSITIONS } from '../core/what-if/supposition.ts'
import {
  addressParameters,
  buildQuestion,
  commandOf,
  makeRow,
  placeProblem,
  type QuestionRow,
  readAddress,
  sizeProblem,
} from './question.ts'

const text = 'kind: Secret'
const rows: QuestionRow[] = [
  makeRow({ kind: 'clusterLost', cluster: ' member2 ' }),
  makeRow({ kind: 'applied', text, cluster: 'of another kind' }),
  makeRow({ kind: 'tainted', cluster: 'member1', key: 'drain', value: 'yes', effect: 'NoSchedule' }),
  makeRow({ kind: 'clusterLost', cluster: 'member3' }),
  makeRow({ kind: 'untainted', cluster: 'member1', key: 'old' }),
  makeRow({ kind: 'dataMoved', source: 'sales', clusters: 'member1, member3  member4' }),
  makeRow({ kind: 'sourceStale', source: 'sales' }),
  makeRow({ kind: 'deleted', object: 'deployment/trainer' }),
]
const named = rows.filter(({ kind }) => kind !== 'applied')
const withoutIds = (given: readonly QuestionRow[]) => given.map((row) => ({ ...row, id: 0 }))

test('rows are a body that the server reads, and each has a path in it', () => {
  const { question, paths } = buildQuestion(rows)
  expect(question).toEqual({
    clusterLost: ['member2', 'member3'],
    files: [{ file: 'change-2.yaml', text }],
    taints: [{ cluster: 'member1', key: 'drain', value: 'yes', effect: 'NoSchedule' }],
    taintsRemoved: [{ cluster: 'member1', key: 'old' }],
    data: [{ source: 'sales', clusters: ['member1', 'member3', 'member4'] }],
    sourcesStale: ['sales'],
    deleted: ['deployment/trainer'],
  })
  expect(validateWhatIf(question)).toEqual([])
  const read = readWhatIf(question, 'the command').suppositions?.map(({ path }) => path)
  expect(read?.toSorted()).toEqual(['files', ...paths.filter((path) => path !== 'files[0]')].toSorted())
})

test('rows are a command, whose shell reads each text as one word', () => {
  const settings = { namespace: undefined, folder: '/my fleet' }
  expect(commandOf(rows, settings)).toBe(
    'lodestone what-if --taint member1=old- --cluster-lost member2 -f change-2.yaml --taint member1=drain=yes:NoSchedule' +
      ' --cluster-lost member3 --data sales=member1,member3,member4 --source-stale sales' +
      " --delete deployment/trainer -n default --folder '/my fleet'",
  )
  const lost = (cluster: string) => commandOf([makeRow({ cluster })], { namespace: 'demo', folder: undefined })
  expect(lost('$(reboot)')).toBe("lodestone what-if --cluster-lost '$(reboot)'")
  expect(lost('-x')).toBe('lodestone what-if --cluster-lost=-x')
  expect(lost('a\u0003b')).toBe("lodestone what-if --cluster-lost $'a\\x03b'")
  expect(lost('  ')).toBeUndefined()
})

test('rows are parameters of an address, which are the same rows again', () => {
  const parameters = addressParameters(named)
  expect(`${parameters}`).toMatch(/^lost=member2&taint=member1%3Ddrain%3Dyes%3ANoSchedule&lost=member3&taint=/)
  const { rows: read, problem } = readAddress(new URLSearchParams(`namespace=demo&__proto__=x&${parameters}`))
  expect(problem).toBeUndefined()
  expect(buildQuestion(read)).toEqual(buildQuestion(named))
  expect(withoutIds(read)[0]).toEqual(withoutIds([makeRow({ cluster: 'member2' })])[0])
})

test.each<{ name: string; given: QuestionRow[] }>([
  { name: 'manifests', given: rows },
  { name: 'a long text', given: [makeRow({ cluster: 'x'.repeat(1024 * 1024) })] },
])('a question with $name has no address', ({ given }) => {
  expect(addressParameters(given)).toBeUndefined()
})

test.each([
  { query: 'lost=member2&taint=member1', says: 'the address has no valid change in taint=member1' },
  { query: 'lost=', says: 'the address has no valid change in lost=' },
  { query: 'data=sales', says: 'the address has no valid change in data=sales' },
  {
    query: 'lost=m&'.repeat(1000),
    says: `the address has 1000 changes; a question has at most ${MAX_SUPPOSITIONS}`,
  },
])('an address with an invalid change is no other question: $says', ({ query, says }) => {
  expect(readAddress(new URLSearchParams(query)).problem).toBe(says)
})

const { paths } = buildQuestion(rows)

test.each([
  { path: 'clusterLost[1]', message: 'no Cluster member3', want: { row: 3, text: 'change 4: no Cluster member3' } },
  { path: 'data[0].clusters[2]', message: 'is empty', want: { row: 5, text: 'change 6, clusters[2]: is empty' } },
  {
    path: 'files[0]',
    message: 'change-2.yaml: has no kind',
    want: { row: 1, text: 'change 2: change-2.yaml: has no kind' },
  },
  { path: 'files', message: 'have more than 100 objects', want: { text: 'files: have more than 100 objects' } },
  { path: 'clusterLost[10]', message: 'is empty', want: { text: 'clusterLost[10]: is empty' } },
  { message: 'nothing is supposed', want: { text: 'nothing is supposed' } },
])('a problem names its row: $want.text', ({ want, ...problem }) => {
  expect(placeProblem(problem, paths)).toEqual(want)
})

test('a question that is too large names its longest row', () => {
  const large = [...rows, makeRow({ kind: 'applied', text: 'é'.repeat(1000) })]
  const { question } = buildQuestion(large)
  const bytes = Buffer.byteLength(JSON.stringify(question))
  expect(sizeProblem(large, question, bytes)).toBeUndefined()
  expect(sizeProblem(large, question, bytes - 1)).toEqual({
    row: 8,
    text: `change 9: is the longest of a question with ${bytes} bytes; give at most ${bytes - 1}, or use the command`,
  })
})
