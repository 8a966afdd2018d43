/** Reads the prose of Markdown: paragraphs, headings, items of lists and cells of tables; never code. */
import { lexer, type Token, type Tokens } from 'marked'
import { type Block, CODE } from './sentences.ts'

/** `firstLine` is the line of the text in its file. */
export function markdownBlocks(text: string, firstLine = 1): Block[] {
  const blocks: Block[] = []
  let cursor = 0

  const add = (tokens: readonly Token[], raw: string) => {
    const found = text.indexOf(raw.trim().split('\n', 1)[0] ?? '', cursor)
    if (found >= 0) cursor = found
    const prose = inline(tokens).replaceAll(/\s+/g, ' ').trim()
    if (prose !== '') blocks.push({ line: firstLine + countLines(text, cursor), text: prose })
  }

  const walk = (tokens: readonly Token[]) => {
    for (const token of tokens) {
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table
        for (const cell of [header, ...rows].flat()) add(cell.tokens, cell.text)
      } else if (token.type === 'list') {
        for (const item of (token as Tokens.List).items) walk(item.tokens)
      } else if (token.type === 'blockquote') {
        walk((token as Tokens.Blockquote).tokens)
      } else if (token.type === 'paragraph' || token.type === 'heading' || token.type === 'text') {
        const { tokens: inner, raw } = token as Tokens.Paragraph
        add(inner ?? [token], raw)
      }
    }
  }

  walk(lexer(text))
  return blocks
}

function inline(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return CODE
      if (token.type === 'html') return ' '
      if (token.type === 'br') return ' '
      if ('tokens' in token && token.tokens !== undefined) return inline(token.tokens)
      return 'text' in token ? decodeEntities(String(token.text)) : ''
    })
    .join('')
}

function decodeEntities(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

function countLines(text: string, end: number): number {
  return text.slice(0, end).split('\n').length - 1
}
