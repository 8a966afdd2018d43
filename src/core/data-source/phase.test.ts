import { expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import { defined } from '../../base/json.ts'
import { phaseOrDeclared, sourcePhase } from './phase.ts'

const ready = (reason: string) => ({
  conditions: [{ type: 'Ready', status: 'True' as const, reason, message: '', lastTransitionTime: '' }],
})

test.each<{ name: string; status: DataSource['status']; want: string | undefined }>([
  { name: 'no status', status: undefined as never, want: undefined },
  { name: 'the phase', status: { phase: 'Available', ...ready('Unavailable') }, want: 'Available' },
  { name: 'the condition, with the CRD of volcano-global', status: ready('Unavailable'), want: 'Unavailable' },
  { name: 'a condition of another controller', status: ready('KubeletReady'), want: undefined },
  { name: 'an unknown phase', status: { phase: 'Lost' }, want: undefined },
])('$name', ({ status, want }) => {
  expect(sourcePhase({ ...makeSource(), ...defined({ status }) })).toBe(want)
})

test('a source without an answer is Available if it has a location, which a user wrote', () => {
  const { locality: _, ...spec } = makeSource().spec
  expect(phaseOrDeclared(makeSource())).toBe('Available')
  expect(phaseOrDeclared({ ...makeSource(), spec })).toBeUndefined()
  expect(phaseOrDeclared({ ...makeSource(), status: { phase: 'Unavailable' } })).toBe('Unavailable')
})
