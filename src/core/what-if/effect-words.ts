/** The words of effects, for answers as text and for the page. The page runs this file in a browser, so it imports types only. */
import type { Effect } from './effect.ts'

/** The names of effects in sentences and heads of tables, the worst first. */
export const EFFECT_WORDS: Readonly<Record<Effect, string>> = {
  stranded: 'stranded',
  waits: 'waits',
  moves: 'moves',
  loses: 'loses a copy',
  removed: 'removed',
  comesHome: 'comes home',
  released: 'released',
  gains: 'gets copies',
  placed: 'placed',
  stays: 'stays',
}
