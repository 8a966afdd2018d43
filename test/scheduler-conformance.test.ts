import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ClusterAffinity, Placement } from '../src/api/karmada.ts'
import { type KarmadaRules, rulesOfVersion, strictestRules } from '../src/core/karmada-rules.ts'
import { clusterFilter } from '../src/core/placement/cluster-filter.ts'
import { spreadCheck } from '../src/core/placement/spread.ts'
import { lookup, makeCluster } from './builders.ts'

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, 'data/scheduler', file), 'utf8'))

type Scheduling = '' | 'U' | 'A' | 'D' | 'S'
const divided = { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted' }
const schedulingOf: Record<Scheduling, Placement['replicaScheduling']> = {
  '': undefined,
  U: { ...divided, replicaSchedulingType: 'Duplicated' },
  A: { ...divided, replicaDivisionPreference: 'Aggregated' },
  D: { ...divided, weightPreference: { dynamicWeight: 'AvailableReplicas' } },
  S: divided,
}

test('spread constraints select clusters exactly where Karmada 1.16, 1.17 and 1.18 do', () => {
  const { rows } = read('spread.json') as { rows: [string[], string[], Scheduling, boolean][] }
  const wrong = rows.filter(([places, constraints, scheduling, selects]) => {
    const names = places.map((_, i) => `c${i + 1}`)
    const clusters = places.map((place, i) => {
      const [region = '', zone = '', provider = ''] = place.split(' ')
      return makeCluster(`c${i + 1}`, {
        ...(region && { region }),
        ...(zone && { zones: [zone] }),
        ...(provider && { provider }),
      })
    })
    const replicaScheduling = schedulingOf[scheduling]
    const spreadConstraints = constraints.map((constraint) => {
      const [field = '', minGroups, maxGroups] = constraint.split(' ')
      return {
        ...(field === 'label' ? { spreadByLabel: 'rack' } : { spreadByField: field }),
        minGroups: Number(minGroups),
        ...(maxGroups !== '0' && { maxGroups: Number(maxGroups) }),
      }
    })
    const placement = { spreadConstraints, ...(replicaScheduling && { replicaScheduling }) }
    return (spreadCheck(placement, lookup(...clusters))(names) === undefined) !== selects
  })

  expect(rows.length).toBeGreaterThan(300)
  expect(wrong).toEqual([])
})

test.each(['1.16', '1.17', '1.18', 'unknown'])('an affinity matches clusters as in Karmada %s', (version) => {
  type ClusterRow = [string, Record<string, string>, string, string, string[]]
  type Row = [ClusterAffinity, string] | [ClusterAffinity, string, string]
  const { clusters: known, rows } = read('cluster-matches.json') as { clusters: ClusterRow[]; rows: Row[] }
  const names = known.map(([name]) => name)
  const clusters = lookup(
    ...known.map(([name, labels, provider, region, zones]) => {
      const cluster = makeCluster(name, {
        ...(provider && { provider }),
        ...(region && { region }),
        ...(zones.length > 0 && { zones }),
      })
      return { ...cluster, metadata: { ...cluster.metadata, labels } }
    }),
  )
  const rules: KarmadaRules = rulesOfVersion(version) ?? strictestRules
  const wrong = rows.filter(([affinity, before, since = before]) => {
    const { allows } = clusterFilter(affinity, clusters, rules)
    return names.filter(allows).join(' ') !== (version === '1.18' ? since : before)
  })

  expect(rows.length).toBeGreaterThan(300)
  expect(wrong).toEqual([])
})
