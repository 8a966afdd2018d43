// Helm 4 with the chart on a real hub. It applies on the server side, and the leader of Lodestone writes some of the same fields.
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureHelm4 } from './binaries.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { startLodestone } from './lodestone.ts'

let plane: ControlPlane
let helm: Helm

beforeAll(async () => {
  plane = await startControlPlane()
  helm = await helmOn(plane, ensureHelm4)
  await plane.apply(namespaceOf(namespace))
})
afterAll(async () => {
  await plane?.stopAll()
  await helm?.close()
})

/** The fields of the leader in the objects of the release. */
async function ofLeader() {
  const interpreter = await plane.getJson('resourceinterpreterwebhookconfigurations', 'lodestone')
  const policy = await plane.getJson('validatingadmissionpolicies', 'lodestone-claimed-workloads')
  const { webhooks } = interpreter as { webhooks?: object[] }
  return { webhooks, spec: (policy as { spec?: object }).spec, annotations: policy?.metadata['annotations'] }
}

test('an upgrade keeps what the leader wrote, and a forced rollback is repaired', async () => {
  const values = { mode: 'hub-objects' }
  expect(await helm.run(['install', 'lodestone', chart], values)).toMatchObject({ code: 0 })
  await plane.crdsEstablished()
  const installed = await ofLeader()
  // Another spec of the policies than that of the chart.
  await startLodestone(plane, { config: { registration: { excludedNamespaces: ['kube-system', 'platform'] } } })
  await plane.eventually('the leader writes all of them', async () => {
    const { webhooks, spec } = await ofLeader()
    return webhooks?.length && !isDeepStrictEqual(spec, installed.spec)
  })
  const written = await ofLeader()

  for (const label of ['first', 'second']) {
    expect(await helm.run(['upgrade', 'lodestone', chart], { ...values, commonLabels: { label } })).toMatchObject({
      code: 0,
    })
    expect(await ofLeader()).toEqual(written)
    const labeled = await plane.getJson('validatingadmissionpolicies', 'lodestone-claimed-workloads')
    expect(labeled?.metadata['labels']).toMatchObject({ label })
  }

  expect((await helm.run(['rollback', 'lodestone', '1'])).stderr).toContain('conflict with "lodestone"')
  expect(await helm.run(['rollback', 'lodestone', '1', '--force-conflicts'])).toMatchObject({ code: 0 })
  // It writes the policies later: a registration that another client changes is kept for two minutes.
  await plane.eventually('the leader registers the interpreter again', async () =>
    isDeepStrictEqual((await ofLeader()).webhooks, written.webhooks),
  )
})
