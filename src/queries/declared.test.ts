import { expect, test } from 'vitest'
import { makeCluster } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { DEPENDS_ON_ANNOTATION } from '../api/lodestone.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { declaredErrors } from './declared.ts'

const AT = `metadata.annotations[${DEPENDS_ON_ANNOTATION}]`
const ownCa = '[{"kind": "ConfigMap", "name": "kube-root-ca.crt"}]'
const enabledElsewhere = '[{"kind": "HorizontalPodAutoscaler", "name": "web"}]'

test.each([
  { cluster: 'a hub', given: [makeCluster('member1')], text: enabledElsewhere, paths: [`${AT}[0].kind`] },
  { cluster: 'a member', given: [], text: enabledElsewhere, paths: [] },
  { cluster: 'a hub', given: [makeCluster('member1')], text: ownCa, paths: [`${AT}[0]`] },
  { cluster: 'a member', given: [], text: ownCa, paths: [] },
  { cluster: 'a hub', given: [makeCluster('member1')], text: 'not json', paths: [AT] },
  { cluster: 'a member', given: [], text: 'not json', paths: [AT] },
  { cluster: 'a member', given: [], text: '[{"kind": "Secret"}]', paths: [`${AT}[0].name`] },
])('on $cluster, $text has errors at $paths', async ({ given, text, paths }) => {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { annotations: { [DEPENDS_ON_ANNOTATION]: text } } }
  const errors = declaredErrors({ object }, SHIPPED_KINDS, await storeOf(given))
  expect(errors.map(({ path }) => path)).toEqual(paths)
})
