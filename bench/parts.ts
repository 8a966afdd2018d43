/**
 * `npm run bench:parts`: CPU time of the parts of a review in this process, without TLS, HTTP and the kernel. Each column includes the
 * columns before it. The pod gets three volumes, from 1,000 VolumeManagers in memory.
 */
import { openSync } from 'node:fs'
import type { AdmissionRequest } from '../src/api/admission.ts'
import { dataSources } from '../src/api/data-source.ts'
import { dataSourceClaims } from '../src/api/data-source-claim.ts'
import { INJECT_LABEL, VOLUMES_ANNOTATION } from '../src/api/lodestone.ts'
import { type VolumeManager, volumeManagers } from '../src/api/volume-manager.ts'
import { decodeReview, encodeResponse } from '../src/core/admission/review.ts'
import { publishVolume } from '../src/core/volume-manager/rules/published.ts'
import { revisionOf } from '../src/core/volume-manager/rules/source-types.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { admissionSettings } from '../src/server/admission.fake.ts'
import { serveWebhook } from '../src/server/admission.ts'
import { openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import { openLogger } from '../src/telemetry/logger.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { defaultSettings } from '../src/webhooks/context.fake.ts'
import type { Webhook } from '../src/webhooks/define.ts'
import { podWebhook } from '../src/webhooks/pod.ts'
import { bindingWebhooks } from '../src/webhooks/resource-binding.ts'
import { makeClaim, makeSource, makeVolumeManager, nodesWith } from '../test/builders.ts'
import { print, table } from './harness/report.ts'
import { leastCpuMs } from './harness/rounds.ts'
import { CREATE, readReview, UPDATE } from './harness/server.ts'

const [resourceBinding] = bindingWebhooks(SHIPPED_KINDS) as [Webhook, Webhook]
const store = openFolderStore({ kinds: cachedKinds })
await store.start(new AbortController().signal)
await store.create(dataSourceClaims, makeClaim())
await store.create(dataSources, makeSource())
for (let i = 0; i < 1000; i++) await store.create(volumeManagers, runningManager(i))

const output = { write: () => true, fd: openSync('/dev/null', 'w') }
const silent = openLogger({ level: 'silent', format: 'json', output })
const logger = openLogger({ level: 'info', format: 'json', output })
const dependencies = { ...admissionSettings, store, now: Date.now, metrics: openMetrics() }

const REVIEWS = [
  ['CREATE of a binding', CREATE, resourceBinding],
  ['UPDATE of a binding', UPDATE, resourceBinding],
  ['CREATE of a pod', podReview(['data-1', 'data-500', 'data-999']), podWebhook(SHIPPED_KINDS)],
] as const
const PARTS = ['`JSON.parse`', '+ schema', '+ decision', '+ patch, proven', '+ answer, counted', '+ log line']
const rows = []
for (const [name, body, webhook] of REVIEWS) {
  const request = (): AdmissionRequest => JSON.parse(body).request
  const decode = () => decodeReview(JSON.parse(body))
  const decide = (of = request()) => webhook.review(of, { ...defaultSettings, store, now: Date.now() })
  const encode = (of = request()) => encodeResponse(of, decide(of), (text) => Buffer.from(text).toString('base64'))
  const answer = serveWebhook(webhook, { ...dependencies, log: silent.log })
  const answerAndLog = serveWebhook(webhook, { ...dependencies, log: logger.log })
  const { kind } = decide()
  if (kind !== 'patch') throw new Error(`${name} is not patched: ${kind}`)
  const calls = [request, decode, decide, encode, () => answer(body), () => answerAndLog(body)]
  const cells = []
  for (const call of calls) cells.push(((await leastCpuMs(() => call(), { sampleMs: 500 })) * 1000).toFixed(1))
  rows.push([`${name}, ${Buffer.byteLength(body)} bytes`, ...cells])
}
print('CPU time in µs, least of 5 samples; goal: pod answered ≤ 100 µs', table(['review', ...PARTS], rows))
await logger.close()
await store.stop()

/** A VolumeManager whose data is on its nodes. */
function runningManager(i: number): VolumeManager {
  const manager = makeVolumeManager([{ id: 'raw' }, { id: 'clean' }], { name: `data-${i}`, uid: `uid-${i}` })
  const volumes = manager.spec.volumeConfigs.map((config) => {
    return { ...publishVolume(manager, config), message: 'success', revision: revisionOf(config) }
  })
  return { ...manager, status: { state: 'Running', volumes } }
}

/** A recorded review of a pod, with requests for these volumes, three containers and node affinity of its own. */
function podReview(names: string[]): string {
  const review = JSON.parse(readReview('038-Pod-CREATE-trainer'))
  const { metadata, spec } = review.request.object
  const volumes = names.map((name) => ({ name, id: 'clean', 'mount-path': `/data/${name}` }))
  metadata.labels = { ...metadata.labels, [INJECT_LABEL]: 'true' }
  metadata.annotations = { ...metadata.annotations, [VOLUMES_ANNOTATION]: JSON.stringify(volumes) }
  metadata.namespace = review.request.namespace = 'default'
  spec.initContainers = [{ ...spec.containers[0], name: 'setup' }]
  spec.containers.push({ ...spec.containers[0], name: 'sidecar' })
  spec.affinity = { nodeAffinity: nodesWith('gpu', 'tpu') }
  return JSON.stringify(review)
}
