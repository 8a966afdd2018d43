import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ArchiveEntry, gzipOf, tarOf } from './archive.ts'

const file = (path: string, text = ''): ArchiveEntry => ({ path, content: Buffer.from(text) })
const entries: ArchiveEntry[] = [
  file('b/text', 'hello'),
  { path: 'a/run', content: Buffer.from('#!'), isExecutable: true },
  { path: 'link', content: { linkTo: 'b/text' } },
]
const listed = (archive: Buffer) =>
  execFileSync('tar', ['-tvf', '-', '--numeric-owner', '--utc', '--full-time'], { input: archive, encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '))

describe('an archive', () => {
  test('has entries and folders, sorted, of root, with one time', () => {
    expect(listed(tarOf(entries, 1_700_000_000))).toEqual([
      'drwxr-xr-x 0/0 0 2023-11-14 22:13:20 a/',
      '-rwxr-xr-x 0/0 2 2023-11-14 22:13:20 a/run',
      'drwxr-xr-x 0/0 0 2023-11-14 22:13:20 b/',
      '-rw-r--r-- 0/0 5 2023-11-14 22:13:20 b/text',
      'lrwxr-xr-x 0/0 0 2023-11-14 22:13:20 link -> b/text',
    ])
  })

  test('has no entries for folders, if the caller wants none', () => {
    const lines = listed(tarOf(entries, 0, false))
    expect(lines.map((line) => line.split(' ')[5])).toEqual(['a/run', 'b/text', 'link'])
  })

  test('has the same bytes for any order of the entries', () => {
    const bytes = (order: ArchiveEntry[]) => gzipOf(tarOf(order, 1)).toString('hex')
    expect(bytes([...entries].reverse())).toBe(bytes(entries))
  })

  test('is unpacked by tar to the same files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'lodestone-archive-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const long = `${'folder/'.repeat(20)}${'name'.repeat(20)}`
    const big = 'x'.repeat(100_000)
    writeFileSync(join(folder, 'archive.tgz'), gzipOf(tarOf([...entries, file(long, big)], 1)))
    execFileSync('tar', ['-xzf', 'archive.tgz'], { cwd: folder })
    expect(readFileSync(join(folder, long), 'utf8')).toBe(big)
    expect(readlinkSync(join(folder, 'link'))).toBe('b/text')
    expect(statSync(join(folder, 'a/run')).mode & 0o777).toBe(0o755)
  })

  test.each([
    { what: 'a path twice', given: [file('a'), file('a')], message: 'two files of the archive have the path a' },
    { what: 'a name of more than 100 bytes', given: [file('n'.repeat(101))], message: /the path n+ is too long/ },
    {
      what: 'a long link',
      given: [{ path: 'l', content: { linkTo: 'x'.repeat(101) } }],
      message: 'the link of l is too long',
    },
  ])('is rejected with $what', ({ given, message }) => {
    expect(() => tarOf(given, 1)).toThrow(message)
  })
})
