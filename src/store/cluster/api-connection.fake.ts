/** A connection to a fake API server. */
import { onTestFinished } from 'vitest'
import type { ResourceType } from '../../api/meta.ts'
import { type ApiConnection, createConnection } from './api-connection.ts'
import { type FakeApiServer, startFakeApiServer } from './api-server.fake.ts'

/** Starts a server, and a connection to it. Both are closed after the test. */
export async function connectToFake(
  types: ResourceType[],
): Promise<{ server: FakeApiServer; connection: ApiConnection }> {
  const server = await startFakeApiServer(types)
  const connection = createConnection({
    server: server.url,
    read: async () => ({ headers: {}, transport: { tls: {} } }),
    forget: () => {},
  })
  onTestFinished(() => connection.close())
  return { server, connection }
}
