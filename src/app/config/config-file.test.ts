import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError, readConfigFile } from './config-file.ts'

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'lodestone.yaml')
  writeFileSync(file, text)
  return file
}

test.each([
  { what: 'YAML', text: 'log:\n  level: debug # why\n', want: { log: { level: 'debug' } } },
  { what: 'JSON with tabs', text: '{\n\t"log": {\n\t\t"level": "debug"\n\t}\n}', want: { log: { level: 'debug' } } },
  { what: 'a document with a beginning', text: '---\nlog: {}\n', want: { log: {} } },
  { what: 'comments only', text: '# log:\n', want: undefined },
  { what: 'nothing', text: '', want: undefined },
])('$what is read', ({ text, want }) => {
  expect(readConfigFile(fileWith(text))).toEqual(want)
})

const bomb = `a0: &a0 [x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`).join('\n')}`

test.each([
  { what: 'tabs', text: 'log:\n\tlevel: debug', want: ':2: is not valid YAML: Tabs are not allowed as indentation' },
  { what: 'several errors', text: 'a: [\nb: 1\na: 2\n', want: ':2: is not valid YAML' },
  {
    what: 'comments of JavaScript',
    text: '{\n  "log": {} // why\n}',
    want: ':2: is not valid JSON or YAML: comments begin with #, not with // or /*',
  },
  { what: 'two documents', text: 'log: {}\n---\nlog: {}\n', want: ':2: has a second document; remove the line ---' },
  { what: 'aliases that fill the memory', text: bomb, want: ': Excessive alias count' },
])('$what: the error has the file and its place', ({ text, want }) => {
  const file = fileWith(text)

  expect(() => readConfigFile(file)).toThrow(ConfigError)
  expect(() => readConfigFile(file)).toThrow(`${file}${want}`)
})
