/** Splits a block of prose into sentences and checks each against the rules. */
import { maxWords, rules } from './rules.ts'

/** Prose without a break: a paragraph, an item of a list, a cell, a comment, a message. */
export interface Block {
  line: number
  text: string
  /** A message may join two sentences by a semicolon: what failed; the way out. */
  message?: boolean
}

export interface Finding {
  line: number
  rule: string
  instead: string
  excerpt: string
}

/** The place of code in prose: one word that no rule matches. */
export const CODE = 'CODE'

const ABBREVIATION = /\b(?:e\.g|i\.e|etc|vs|cf|no|approx)\.$/i

export function findingsOf(blocks: readonly Block[]): Finding[] {
  return blocks.flatMap((block) => sentencesOf(block).flatMap((sentence) => check(sentence, block.line)))
}

export function sentencesOf({ text, message = false }: Block): string[] {
  const parts = text.split(message ? /(?<=[.!?;]["')\]]*)\s+/ : /(?<=[.!?]["')\]]*)\s+/)
  const sentences: string[] = []
  for (const part of parts) {
    const last = sentences.at(-1)
    if (last !== undefined && ABBREVIATION.test(last)) sentences[sentences.length - 1] = `${last} ${part}`
    else sentences.push(part)
  }
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => sentence !== '')
}

export function wordsOf(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

function check(sentence: string, line: number): Finding[] {
  const excerpt = sentence.length > 100 ? `${sentence.slice(0, 99)}…` : sentence
  const words = wordsOf(sentence)
  const long = words > maxWords ? [{ line, rule: `${words} words`, instead: `at most ${maxWords}`, excerpt }] : []
  const found = rules.flatMap(({ name, pattern, instead }) => {
    const match = pattern.exec(sentence)?.[0].trim()
    return match === undefined ? [] : [{ line, rule: `${name}: "${match.slice(0, 40)}"`, instead, excerpt }]
  })
  return [...long, ...found]
}
