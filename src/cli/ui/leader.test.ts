import { expect, test } from 'vitest'
import type { Lease } from '../../store/cluster/lease.ts'
import { judgeLease } from './leader.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')

function lease(spec: Lease['spec'], annotations: Record<string, string> = {}): Lease {
  const metadata = { namespace: 'lodestone-system', name: 'lodestone', annotations }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, ...(spec && { spec }) }
}

const held = { holderIdentity: 'pod-a', leaseDurationSeconds: 15, renewTime: '2026-11-20T11:59:50.000000Z' }

test.each([
  { name: 'that its holder renews passes', lease: lease(held), result: 'passed', says: 'pod-a holds Lease' },
  {
    name: 'that its holder does not renew fails',
    lease: lease({ ...held, renewTime: '2026-11-20T11:59:00.000000Z' }),
    result: 'failed',
    says: 'pod-a has not renewed Lease lodestone-system/lodestone for 60 s',
  },
  { name: 'without a time fails', lease: lease({ holderIdentity: 'pod-a' }), result: 'failed', says: 'for ?' },
  {
    name: 'without a holder fails',
    lease: lease({ ...held, holderIdentity: '' }),
    result: 'failed',
    says: 'no replica',
  },
  { name: 'without a spec fails', lease: lease(undefined), result: 'failed', says: 'no replica holds' },
  {
    name: 'that does not exist says where it may be',
    lease: undefined,
    result: 'skipped',
    says: 'in the host cluster',
  },
  {
    name: 'that an uninstallation has is a warning',
    lease: lease(held, { 'lodestone.dev/uninstalling': '2026-11-20T11:59:00Z' }),
    result: 'warning',
    says: 'lodestone uninstall has Lease',
  },
])('a Lease $name', ({ lease: given, result, says }) => {
  expect(judgeLease(given, 'lodestone-system/lodestone', NOW)).toMatchObject({
    result,
    message: expect.stringContaining(says),
  })
})
