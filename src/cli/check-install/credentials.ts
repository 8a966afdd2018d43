/** Checks when the credentials of the kubeconfig end. That of a hub usually has a token for 30 days. */
import { endMessage, endsSoon, RENEW_CREDENTIALS } from '../../app/monitoring/credentials.ts'
import { type Check, passed, type ReadContext, skipped, warning } from './check.ts'

export const credentials: Check<ReadContext> = {
  name: 'credentials',
  async run({ connection, now }) {
    const lifetime = await connection.credentialsLifetime()
    if (!lifetime) return skipped('they do not end, or a plugin renews them')
    if (endsSoon(lifetime, now)) {
      return warning(endMessage(lifetime), `${RENEW_CREDENTIALS}, see docs/tutorials/getting-started-hub.md`)
    }
    return passed(`they end at ${new Date(lifetime.endsAt).toISOString()}`)
  },
}
