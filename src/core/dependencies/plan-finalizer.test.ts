import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import { planDependenciesFinalizer } from './plan-finalizer.ts'

const [foreign, ours] = ['karmada.io/binding-controller', DEPENDENCIES_FINALIZER]

test.each([
  ['set if there is a dependency to attach', [foreign], true, false, false, [foreign, ours]],
  ['unchanged while Lodestone attaches', [foreign, ours], true, true, false, undefined],
  ['removed when nothing is attached any more', [foreign, ours], false, false, false, [foreign]],
  ['kept while a dependency is still attached', [foreign, ours], false, true, false, undefined],
  ['kept by a deleted binding while a dependency is still attached', [foreign, ours], false, true, true, undefined],
  ['removed when a deleted binding has nothing attached', [foreign, ours], true, false, true, [foreign]],
  ['never set on a binding that is being deleted', [foreign], true, true, true, undefined],
  ['not set if there is nothing to attach', [foreign], false, false, false, undefined],
  ['unchanged while the dependencies are unknown', [foreign, ours], undefined, false, false, undefined],
  ['not set while the dependencies are unknown', [foreign], undefined, false, false, undefined],
])('the finalizer is %s', (_case, finalizers, attaches, hasAttached, deleted, expected) => {
  const deletion = deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  const binding = makeBinding({}, { finalizers, resourceVersion: '7', ...deletion })

  const { actions } = planDependenciesFinalizer({ binding, attaches, hasAttached })

  expect(actions.map((action) => action.kind === 'patch' && action.patch)).toEqual(
    expected ? [{ metadata: { resourceVersion: '7', finalizers: expected } }] : [],
  )
})
