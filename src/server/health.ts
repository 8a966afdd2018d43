/** Plain HTTP for probes and Prometheus: alive, ready and why not, metrics. */
import fastify, { type FastifyInstance } from 'fastify'
import type { Metrics } from '../telemetry/metrics.ts'

export interface HealthOptions {
  /** What still keeps the server from being ready, in words; empty when it is. */
  notReady: () => string[]
  metrics: Metrics
}

/**
 * Builds the health server. `/livez` says only that the process turns over: it never depends on the API server, since restarting us
 * would not mend that. `/readyz` is 503 with the reasons until everything is there.
 */
export function buildHealthServer({ notReady, metrics }: HealthOptions): FastifyInstance {
  const server = fastify({ logger: false, forceCloseConnections: true })
  server.get('/livez', () => 'ok\n')
  server.get('/readyz', (_request, reply) => {
    const reasons = notReady()
    return reasons.length === 0
      ? 'ok\n'
      : reply.status(503).send(`${reasons.map((reason) => `not ready: ${reason}`).join('\n')}\n`)
  })
  server.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
  return server
}
