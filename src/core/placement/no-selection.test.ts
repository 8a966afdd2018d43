import { expect, test } from 'vitest'
import { isNoSelection } from './no-selection.ts'

test('a message is about the choice among clusters if it begins so', () => {
  const messages = [
    'failed to select clusters: no enough resource',
    'cannot patch: failed to select clusters',
    undefined,
  ]
  expect(messages.map(isNoSelection)).toEqual([true, false, false])
})
