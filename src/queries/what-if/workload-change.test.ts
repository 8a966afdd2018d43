import { expect, test } from 'vitest'
import { DEFAULT_DECISIONS, NOW } from '../../../test/builders.ts'
import { Fleet } from '../../../test/fleet/fleet.ts'
import { storeOf } from '../../../test/fleet/fleet-files.ts'
import { keyOfObject } from '../../api/meta.ts'
import { newestRules } from '../../core/karmada-rules.ts'
import { indexBindings } from './binding-index.ts'
import { rememberOutcomes } from './present.ts'
import { findChanges } from './workload-change.ts'
import { openWorld, placedBindings } from './world.ts'

const settings = { ...DEFAULT_DECISIONS, now: NOW, karmadaRules: newestRules }

test.each(['certain', 'possible'] as const)(
  'other requests are handled between %s bindings, also if none of them changes',
  async (certainty) => {
    const store = await storeOf(new Fleet(1, { clusters: 5, sources: 20, bindings: 500, volumes: false }))
    const world = openWorld(store, { ...settings, clusterScopedClaims: 'forbidden' })
    const present = { world, outcomesOf: rememberOutcomes(world), index: await indexBindings(world) }
    const keys = [...placedBindings(store)].map(keyOfObject)
    const concerned = { certain: new Set<string>(), possible: [], [certainty]: keys }
    const changes: unknown[] = []
    let turns = 0
    let next = setImmediate(function count() {
      turns += 1
      next = setImmediate(count)
    })
    // Nothing is supposed, so nothing changes.
    await findChanges(present, [{ world, concerned: () => concerned, add: (change) => changes.push(change) }], {})
    clearImmediate(next)
    expect(keys.length).toBeGreaterThanOrEqual(500)
    expect(changes).toEqual([])
    expect(turns).toBeGreaterThanOrEqual(3)
  },
)
