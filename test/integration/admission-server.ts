/** An admission server on the manifests of examples/hub, on a free port of this machine, for tests that speak to it over TLS. */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { admissionSettings } from '../../src/server/admission.fake.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../src/server/limits.ts'
import { type AdmissionServer, buildServer, type ServerOptions } from '../../src/server/server.ts'
import { openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { type LogLine, recordLog } from '../../src/telemetry/logger.fake.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'
import { openMemoryStorage } from '../../src/tls/memory-storage.ts'
import { openCertificates } from '../../src/tls/rotation.ts'
import { allWebhooks } from '../../src/webhooks/index.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

export const REVIEW_PATH = '/mutate/resource-binding'
export const review = readFileSync('examples/review.json', 'utf8')

export interface RunningServer {
  server: AdmissionServer
  port: number
  ca: string
  /** Verifies client certificates by another CA from now on. */
  useClientCa(pem: string): void
  lines: LogLine[]
  /** The value of a metric with these labels, as in `lodestone_requests_shed_total{reason="bytes"}`. */
  figure(sample: string): Promise<number>
}

/** Starts it; closed when the test ends. */
export async function startServer({
  limits,
  clientCa,
  ...more
}: { limits?: Partial<ServerLimits>; clientCa?: string } & Partial<
  Omit<ServerOptions, 'limits' | 'tls'>
> = {}): Promise<RunningServer> {
  const { log, lines } = recordLog()
  const metrics = openMetrics()
  const store = openFolderStore({ directory: 'examples/hub', kinds: cachedKinds, watch: false })
  await store.start(new AbortController().signal)
  const certificates = await openCertificates({
    storage: openMemoryStorage(),
    hosts: ['127.0.0.1', 'localhost'],
    now: Date.now,
  })
  certificates.stop()
  const { certPem: cert, keyPem: key, caBundlePem: ca = '' } = certificates.current()
  const server = buildServer({
    webhooks,
    store,
    tls: { cert, key, ...(clientCa && { clientCa }) },
    limits: { ...DEFAULT_LIMITS, ...limits },
    log,
    metrics,
    now: Date.now,
    ...admissionSettings,
    ...more,
  })
  await server.fastify.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    await server.close(0)
    await store.stop()
  })
  return {
    server,
    useClientCa: (pem) => server.useCertificate({ cert, key, clientCa: pem }),
    port: (server.fastify.server.address() as AddressInfo).port,
    ca,
    lines,
    figure: async (sample) => {
      const text = await metrics.registry.metrics()
      const line = text.split('\n').find((one) => one.startsWith(`${sample} `))
      return Number(line?.slice(sample.length))
    },
  }
}
