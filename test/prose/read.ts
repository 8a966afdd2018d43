/** Reads the prose of a file: Markdown without code, comments, descriptions of examples, messages and test titles. */
const COMMENTS = /^ *\/\*\*?[\s\S]*?\*\/|^ *\/\/.*(?:\n *\/\/.*)*|(?<=\S )\/\/ .*/gm
const HASH_COMMENTS = /^ *#(?!!).*(?:\n *#.*)*|^description: .*/gm
const MARKS = /.*(?:biome-ignore|@ts-).*|^ *(?:\/\*\*?|\*\/|\*|\/\/|#|description:) ?|\*\/$|@(?:param|returns|throws)/gm
const STRINGS = /(['"`])(?:\\.|(?!\1)[^\\\n])*\1/g

/** Returns each paragraph, heading, item, cell, comment and text of several words, with its first line. */
export function blocksOf(path: string, text: string): { line: number; text: string; isMessage?: boolean }[] {
  if (path.endsWith('.md')) return markdownBlocks(text)
  const pattern = path.endsWith('.ts') ? COMMENTS : HASH_COMMENTS
  const comments = find(text, pattern).flatMap((found) => markdownBlocks(found.text.replaceAll(MARKS, ''), found.line))
  if (pattern === HASH_COMMENTS) return comments
  const messages = find(text.replaceAll(COMMENTS, blank).replaceAll(/\$\{[^}\n]*\}/g, 'CODE'), STRINGS)
    .map((found) => ({ ...found, text: found.text.slice(1, -1), isMessage: true }))
    .filter((message) => /\p{L}\S* \S/u.test(message.text))
  return [...comments, ...messages]
}

const blank = (text: string) => text.replaceAll(/.+/g, '')

const find = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map((found) => ({ line: text.slice(0, found.index).split('\n').length, text: found[0] }))

function markdownBlocks(text: string, firstLine = 1) {
  const blocks: { line: number; text: string }[] = []
  let isNew = true
  for (const [i, line] of text
    .replaceAll(/^ *(```|~~~)[\s\S]*?^ *\1|<!--[\s\S]*?-->/gm, blank)
    .split('\n')
    .entries()) {
    const mark = /^(?:\s*(?:[-*>]|\d+\.) |#+ |\s*\|)/.exec(line)?.[0] ?? ''
    const last = blocks.at(-1)
    if (last && !isNew && mark === '') last.text += ` ${line}`
    else if (mark !== '' || !line.startsWith('    ')) {
      const cells = line.slice(mark.length).split(mark.endsWith('|') ? /(?<!\\)\|/ : '\n')
      blocks.push(...cells.map((cell) => ({ line: firstLine + i, text: cell })))
    }
    isNew = line.trim() === '' || /[#|]/.test(mark)
  }
  const plain = (prose: string) => prose.replaceAll(/`[^`]*`/g, 'CODE').replaceAll(/!?\[([^\]]*)\]\([^)]*\)|\*+/g, '$1')
  return blocks.map((block) => ({ ...block, text: plain(block.text).replaceAll(/\s+/g, ' ').trim() }))
}
