import { expect, test } from 'vitest'
import { MOVER_ROLE, moverAccess, userAccountAccess } from './credentials.ts'

test('movers have a ServiceAccount, bound to the role of movers in its namespace only', () => {
  expect(moverAccess('team-a', 'mover').map(({ type, object }) => [type.plural, object])).toMatchObject([
    ['serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'mover', namespace: 'team-a' } }],
    [
      'rolebindings',
      {
        metadata: { name: 'mover', namespace: 'team-a' },
        roleRef: { kind: 'ClusterRole', name: MOVER_ROLE },
        subjects: [{ kind: 'ServiceAccount', name: 'mover', namespace: 'team-a' }],
      },
    ],
  ])
})

test('a ServiceAccount of users gets the role by a RoleBinding of another name', () => {
  expect(userAccountAccess('team-a', 'reader').map(({ type, object }) => [type.plural, object])).toMatchObject([
    [
      'rolebindings',
      {
        metadata: { name: 'lodestone-mover.reader', namespace: 'team-a' },
        roleRef: { kind: 'ClusterRole', name: MOVER_ROLE },
        subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'team-a' }],
      },
    ],
  ])
})
