/**
 * `npm run bench:parts`: what the parts of a review cost inside the process, without TLS, HTTP and the kernel, as CPU time. Each row
 * holds everything above it.
 */
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AdmissionRequest } from '../src/api/admission.ts'
import { dataSources } from '../src/api/data-source.ts'
import { dataSourceClaims } from '../src/api/data-source-claim.ts'
import { decodeReview, encodeResponse } from '../src/core/admission/review.ts'
import { serveWebhook } from '../src/server/admission.ts'
import { openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import { openLogger } from '../src/telemetry/logger.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { resourceBinding } from '../src/webhooks/resource-binding.ts'
import { makeClaim, makeSource } from '../test/builders.ts'

const CALLS = 60_000
const logFile = join(tmpdir(), `lodestone-parts-${process.pid}.log`)
const fd = openSync(logFile, 'w')

const store = openFolderStore({ kinds: cachedKinds })
await store.start(new AbortController().signal)
await store.create(dataSourceClaims, makeClaim())
await store.create(dataSources, makeSource())

const choices = { propagateDeps: 'dataBound', whenNotReady: 'gate' } as const
const toBase64 = (text: string) => Buffer.from(text).toString('base64')
const review = (request: AdmissionRequest) => resourceBinding.review(request, { store, now: Date.now(), ...choices })
const request = (body: string): AdmissionRequest => JSON.parse(body).request

for (const name of ['005-ResourceBinding-CREATE-app-deployment', '011-ResourceBinding-UPDATE-app-deployment']) {
  const body = readFileSync(`test/data/reviews/${name}.json`, 'utf8').trim()
  const { log: silent } = openLogger({ level: 'silent', format: 'json', output: { write: () => true, fd } })
  const { log, close } = openLogger({ level: 'info', format: 'json', output: { write: () => true, fd } })
  const dependencies = { store, ...choices, volumes: () => choices, now: Date.now, metrics: openMetrics() }
  const served = serveWebhook(resourceBinding, { ...dependencies, log: silent })
  const logged = serveWebhook(resourceBinding, { ...dependencies, log })
  process.stdout.write(`\n${name}, ${Buffer.byteLength(body)} bytes\n`)
  await time('JSON.parse', () => JSON.parse(body))
  await time('… and its schema', () => decodeReview(JSON.parse(body)))
  await time('… and the decision', () => review(request(body)))
  await time('… and the patch, proven', () => {
    const parsed = request(body)
    return encodeResponse(parsed, review(parsed), toBase64)
  })
  await time('… and the answer, counted', () => served(body))
  await time('… and its log line', () => logged(body))
  await close()
}
closeSync(fd)
rmSync(logFile)

/** Yields now and then, as a server does between requests: only then are log lines written. */
async function time(name: string, call: () => unknown): Promise<void> {
  const rounds: number[] = []
  for (let round = 0; round < 4; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < CALLS; i++) {
      call()
      if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const { user, system } = process.cpuUsage(before)
    rounds.push((user + system) / CALLS)
  }
  // The first rounds are the compiler's.
  process.stdout.write(
    `${name.padEnd(28)}${Math.min(...rounds)
      .toFixed(1)
      .padStart(6)} µs\n`,
  )
}
