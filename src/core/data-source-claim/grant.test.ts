import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeNamespace } from '../../../test/builders.ts'
import { grants, MAX_GRANTED_NAMESPACES, readClaimGrant } from './grant.ts'

const grantOf = (annotation: string | undefined) => readClaimGrant(makeNamespace('shop', annotation))
const many = (count: number) => Array.from({ length: count }, (_, i) => `team-${i}`).join(',')

test.each([
  { name: 'no annotation allows nothing', annotation: undefined, allowed: [] },
  { name: 'an empty annotation allows nothing', annotation: '', allowed: [] },
  { name: 'one name allows that namespace', annotation: 'team-a', allowed: ['team-a'] },
  { name: 'several names allow each of them', annotation: 'team-a,team-b', allowed: ['team-a', 'team-b'] },
  { name: 'white space around names does not matter', annotation: ' team-a ,\n team-b', allowed: ['team-a', 'team-b'] },
  { name: 'a star allows all', annotation: '*', allowed: ['team-a', 'team-b', 'kube-system'] },
  { name: 'a star among names allows all', annotation: 'team-a,*', allowed: ['team-a', 'team-b', 'kube-system'] },
  { name: 'the maximum number of names is allowed', annotation: many(MAX_GRANTED_NAMESPACES), allowed: [] },
])('$name', ({ annotation, allowed }) => {
  const candidates = ['team-a', 'team-b', 'kube-system', '', '*']
  const grant = grantOf(annotation)

  expect(grant?.kind).not.toBe('invalid')
  expect(candidates.filter((namespace) => namespace !== '' && namespace !== '*' && grants(grant, namespace))).toEqual(
    allowed,
  )
})

test.each([
  { name: 'names without a comma', annotation: 'team-a team-b', problem: '"team-a team-b" is not the name' },
  { name: 'an empty name', annotation: 'team-a,', problem: '"" is not the name' },
  { name: 'a prefix with a star', annotation: 'team-*', problem: '"team-*" is not the name' },
  { name: 'a negation beside a star', annotation: '*,!team-a', problem: '"!team-a" is not the name' },
  { name: 'upper case', annotation: 'Team-A,team-a', problem: '"Team-A" is not the name' },
  { name: 'a JSON list', annotation: '["team-a"]', problem: '"["team-a"]" is not the name' },
  { name: 'too many names', annotation: many(MAX_GRANTED_NAMESPACES + 1), problem: 'more than 1000 namespaces' },
])('$name: the annotation is malformed, allows nothing, and has a message', ({ annotation, problem }) => {
  const grant = grantOf(annotation)

  expect(grant).toEqual({ kind: 'invalid', problem: expect.stringContaining(problem) })
  expect(grants(grant, 'team-a')).toBe(false)
})

test('for any annotation, a namespace is allowed only by its name or by a star', async () => {
  const part = fc.constantFrom('team-a', 'team-b', '*', '', ' ', ',', 'TEAM-A', 'team', '-a', ';', '\n')
  await fc.assert(
    fc.property(
      fc.array(part).map((parts) => parts.join('')),
      (annotation) => {
        const names = annotation.split(',').map((name) => name.trim())
        const isNamed = names.some((name) => name === 'team-a' || name === '*')
        expect(grants(grantOf(annotation), 'team-a') && !isNamed).toBe(false)
      },
    ),
  )
})

test('a message is short, even if the annotation is long', () => {
  expect(JSON.stringify(grantOf('x'.repeat(200_000))).length).toBeLessThan(250)
})
