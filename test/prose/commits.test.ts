/** Which commits are rejected, and which are looked at: in a whole clone, a shallow one, and without a repository. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { testWith } from '../programs.ts'
import { commitsSince, faultsOf } from './commits.ts'

const folder = mkdtempSync(join(tmpdir(), 'lodestone-commits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const faults = (subject: string, parents = 1) => faultsOf({ hash: 'abc', parents, subject })

test.each([
  'Retry waiting VolumeManagers when a node frees disk',
  'Process pages as they arrive',
  'Embed the schema',
  'Bring back the index',
  'Pass the clock as an argument',
])('accepts: %s', (subject) => {
  expect(faults(subject)).toEqual([])
})

test.each([
  { subject: 'Adds a field', fault: '"Adds" is not an imperative' },
  { subject: 'Added a field', fault: '"Added" is not an imperative' },
  { subject: 'Adding a field', fault: '"Adding" is not an imperative' },
  { subject: 'What was there at the start is no news', fault: '"What" is not an imperative' },
  { subject: 'A deleted claim is honored', fault: '"A" is not an imperative' },
  { subject: 'Add a field.', fault: 'ends with a full stop' },
  { subject: 'add a field', fault: 'does not begin with a capital letter' },
  { subject: `Add ${'x'.repeat(69)}`, fault: '73 characters: at most 72' },
])('rejects: $subject', ({ subject, fault }) => {
  expect(faults(subject)).toEqual([fault])
})

test('rejects a merge', () => {
  expect(faults('Merge two branches', 2)).toEqual(['merge commit: rebase instead'])
})

testWith('git')('looks at the commits since the base, or at all where the base is not in the history', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.org', ...args], {
      encoding: 'utf8',
    }).trim()
  const origin = join(folder, 'origin')
  const shallow = join(folder, 'shallow')
  git('init', '--quiet', origin)
  for (const subject of ['Add one', 'Add two', 'Add three']) {
    git('-C', origin, 'commit', '--quiet', '--allow-empty', '--no-verify', '-m', subject)
  }
  const base = git('-C', origin, 'rev-parse', 'HEAD~2')
  git('clone', '--quiet', '--depth=1', `file://${origin}`, shallow)

  const subjects = (where: string) => commitsSince(where, base).map(({ subject }) => subject)
  expect(subjects(origin)).toEqual(['Add three', 'Add two'])
  expect(subjects(shallow)).toEqual(['Add three'])
  expect(subjects(tmpdir())).toEqual([])
})
