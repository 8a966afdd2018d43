import { expect, test } from 'vitest'
import { endpointsVariable, secretVariable } from './source.ts'

test('a variable refers to a key of a Secret', () => {
  expect(secretVariable('TOKEN', 'creds', 'token', { optional: true })).toEqual({
    name: 'TOKEN',
    valueFrom: { secretKeyRef: { name: 'creds', key: 'token', optional: true } },
  })
})

test('the endpoints of a Secret are in its key endpoints', () => {
  expect(endpointsVariable('creds')).toEqual({
    name: 'MOVER_CREDENTIAL_ENDPOINTS',
    valueFrom: { secretKeyRef: { name: 'creds', key: 'endpoints' } },
  })
})
