/** The prose of files: what is read of Markdown, TypeScript and YAML, and on which line it is. */
import { expect, test } from 'vitest'
import { markdownBlocks } from './markdown.ts'
import { hashBlocks, typescriptBlocks } from './source.ts'

test('Markdown: headings, paragraphs, items and cells; no code', () => {
  const text = [
    '# A *title*',
    '',
    'One line',
    'and [its link](x.md) to `code`.',
    '',
    '```sh',
    'npm start',
    '```',
    '',
    '- first',
    '  - nested',
    '- second',
    '',
    '| head | cell |',
    '| ---- | ---- |',
    '| `x`  | last |',
  ].join('\n')
  expect(markdownBlocks(text)).toEqual([
    { line: 1, text: 'A title' },
    { line: 3, text: 'One line and its link to CODE.' },
    { line: 10, text: 'first' },
    { line: 11, text: 'nested' },
    { line: 12, text: 'second' },
    { line: 14, text: 'head' },
    { line: 14, text: 'cell' },
    { line: 16, text: 'CODE' },
    { line: 16, text: 'last' },
  ])
})

test('TypeScript: comments and messages; no names, no directives, no templates of several lines', () => {
  const text = [
    '/** Opens a file. */',
    "import { x } from 'some path of words'",
    '',
    '/**',
    ' * Does one thing.',
    ' *',
    ' * @param y what it takes',
    ' */',
    'export const z = 1 // after it',
    '// two lines',
    '// of one comment',
    '// biome-ignore lint/x: a reason',
    "const name = 'one-word'",
    'throw new Error(`the file $' + '{name} is not there`)',
    'const script = `several words',
    'in lines`',
  ].join('\n')
  expect(typescriptBlocks(text)).toEqual([
    { line: 1, text: 'Opens a file.' },
    { line: 5, text: 'Does one thing.' },
    { line: 7, text: 'y what it takes' },
    { line: 9, text: 'after it' },
    { line: 10, text: 'two lines of one comment' },
    { line: 2, text: 'some path of words', message: true },
    { line: 14, text: 'the file CODE is not there', message: true },
  ])
})

test('YAML: comments that have a line to themselves', () => {
  expect(hashBlocks('#!/bin/sh\nkey: value # beside it\n# Two lines\n# of one.\n\n# Another.\n')).toEqual([
    { line: 3, text: 'Two lines of one.' },
    { line: 6, text: 'Another.' },
  ])
})
