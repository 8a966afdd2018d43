import { expect, test } from 'vitest'
import { EFFECT_NAMES } from './effect.ts'
import { EFFECT_WORDS } from './effect-words.ts'

test('the words of effects have the order of effects', () => {
  expect(Object.keys(EFFECT_WORDS)).toEqual(EFFECT_NAMES)
})
