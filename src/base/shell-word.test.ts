import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellWord } from './shell-word.ts'

test.each([
  { text: 'member2=example.org/drain:NoExecute', want: 'member2=example.org/drain:NoExecute' },
  { text: '', want: "''" },
  { text: 'a b', want: "'a b'" },
  { text: '$(reboot)', want: "'$(reboot)'" },
  { text: "it's", want: "'it'\\''s'" },
  { text: '~', want: "'~'" },
  { text: "a\u0003\n'\\", want: "$'a\\x03\\x0a\\'\\\\'" },
  { text: 'a\u202eb', want: "$'a\\U0000202eb'" },
])('$want is one word that the shell reads as the text', ({ text, want }) => {
  expect(shellWord(text)).toBe(want)
  const env = { ...process.env, LC_ALL: 'C.UTF-8' }
  const read = execFileSync('bash', ['-c', `printf %s ${want}`], { encoding: 'utf8', env })
  expect(read).toBe(text)
})
