/** A small server that gives temporary keys in this process: STS for web identity, and the agent of a node for Pods. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface SeenRequest {
  path: string
  /** The parameters of STS. */
  parameters: Record<string, string>
  authorization: string | undefined
}

/** How long the keys are valid, in ms, or the refusal. */
export type Grant = { lifeMs: number } | { status: number; body: string }

/** Starts a server that gives `token-1`, `token-2` and so on. It ends with the test. */
export async function startStsServer(grantOf: (nth: number) => Grant) {
  const requests: SeenRequest[] = []
  const expirations: number[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk
    })
    request.on('end', () => {
      const parameters = Object.fromEntries(new URLSearchParams(body))
      requests.push({ path: request.url ?? '', parameters, authorization: request.headers.authorization })
      const nth = requests.length
      const grant = grantOf(nth)
      if ('status' in grant) return void response.writeHead(grant.status).end(grant.body)
      const expiresAt = Date.now() + grant.lifeMs
      expirations.push(expiresAt)
      const keys = { AccessKeyId: `ID-${nth}`, SecretAccessKey: `SECRET-${nth}` }
      const Expiration = new Date(expiresAt).toISOString()
      if (request.method === 'GET') {
        return void response.end(JSON.stringify({ ...keys, Token: `token-${nth}`, Expiration }))
      }
      const elements = Object.entries({ ...keys, SessionToken: `token-${nth}`, Expiration })
        .map(([name, value]) => `<${name}>${value}</${name}>`)
        .join('')
      response.end(
        `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>${elements}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, expirations }
}
