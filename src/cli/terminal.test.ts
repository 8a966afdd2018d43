/** No text of a cluster steers the terminal of the user, in any format. */
import { expect, test } from 'vitest'
import { makeBinding, makeClaim, makePolicy, makeSource, makeVolumeManager } from '../../test/builders.ts'
import { dataSources } from '../api/data-source.ts'
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { propagationPolicies, resourceBindings } from '../api/karmada.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { startFakeApiServer } from '../store/cluster/api-server.fake.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { makeKubeconfig, runWords } from './cli.fake.ts'

const EVIL = 'evil\u001b[2J\u001b]0;title\u0007\u009b31m\u202e\r\nHOLDS (0)\n'
const since = '2026-11-20T09:00:00Z'
const condition = { type: 'Stale', status: 'True', reason: 'NotAnswered', message: EVIL, lastTransitionTime: since }
const hold = { message: EVIL, reason: 'Unresolved', since }

const OBJECTS: readonly (readonly [ResourceType, unknown])[] = [
  [dataSourceClaims, makeClaim()],
  [
    dataSources,
    makeSource(
      { locality: { clusterNames: [EVIL], location: EVIL } },
      {
        status: {
          phase: EVIL,
          lastResolvedTime: since,
          lastError: EVIL,
          conditions: [condition, { ...condition, type: 'SystemHealthy', status: 'False' }],
        } as never,
      },
    ),
  ],
  [
    volumeManagers,
    makeVolumeManager([{}], {
      status: {
        state: 'Failed',
        message: EVIL,
        volumes: [
          {
            id: 'vol1',
            message: EVIL,
            nodeAffinity: {},
            replicas: [{ index: 0, revision: '1', attempt: 1, state: 'Failed', node: EVIL, message: EVIL }],
          },
        ],
      } as never,
    }),
  ],
  [propagationPolicies, makePolicy({ placement: { clusterAffinity: { clusterNames: [EVIL] } } })],
  [
    resourceBindings,
    makeBinding({ suspension: { scheduling: true } }, { annotations: { 'lodestone.dev/hold': JSON.stringify(hold) } }),
  ],
]

test.each(
  [
    'status',
    'explain dsc/sales',
    'explain datasource/amoro-table-lake.shop.sales',
    'explain vmgr/sales',
    'explain pp/app',
  ].flatMap((line) => ['text', 'wide', 'json', 'yaml'].map((format) => `${line} -o ${format}`)),
)('%s', async (line) => {
  const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
  for (const [type, object] of OBJECTS) server.put(type, object as K8sObject)

  const { status, stdout, stderr } = await runWords([...line.split(' '), '--kubeconfig', makeKubeconfig(server.url)])

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('evil')
  expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  expect(stdout).not.toContain('\nHOLDS (0)')
})
