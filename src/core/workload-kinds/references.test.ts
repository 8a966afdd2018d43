import { expect, test } from 'vitest'
import { secrets } from '../../api/dependencies.ts'
import { named, referenceTo, sortedReferences } from './references.ts'

test('a reference without a namespace has no namespace field', () => {
  expect(referenceTo({ type: secrets, name: 's' }, undefined)).toEqual({ apiVersion: 'v1', kind: 'Secret', name: 's' })
})

test('references are compared by parts: a namespace sorts before those with its prefix', () => {
  const references = ['shop-b', 'shop', 'shop.a'].map((namespace) =>
    referenceTo({ type: secrets, name: 's' }, namespace),
  )
  expect(sortedReferences(references).map(({ namespace }) => namespace)).toEqual(['shop', 'shop-b', 'shop.a'])
})

test('different selectors are different references; equal ones are merged', () => {
  const select = (app: string) => ({ apiVersion: 'v1', kind: 'Secret', labelSelector: { matchLabels: { app } } })
  expect(sortedReferences([select('b'), select('a'), select('b')])).toEqual([select('a'), select('b')])
})

test('a name that no object can have names nothing', () => {
  const names = [
    'a',
    'a.b-c',
    '{{workflow.parameters.secret}}',
    '$(SECRET)',
    'OnDemand',
    'a/b',
    '-a',
    'a-',
    '',
    ' a',
    'a'.repeat(254),
  ]
  expect(named(secrets, names).map(({ name }) => name)).toEqual(['a', 'a.b-c'])
})
