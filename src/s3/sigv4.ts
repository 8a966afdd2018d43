/** Signs requests with AWS Signature Version 4. The caller provides the hash functions, since they depend on the platform. */
import { defined } from '../base/json.ts'
import { decodeEscapes, encodeStrictly, queryText } from '../base/net/url-encoding.ts'

export interface Digest {
  /** Hexadecimal. */
  sha256(text: string): string
  hmac(key: string | Uint8Array, text: string): Uint8Array
  /** Returns a function that computes HMACs with one key, in hexadecimal. The key is prepared once. */
  hmacsBy(key: Uint8Array): (text: string) => string
}

export interface AccessKeys {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
}

export interface SigningScope {
  region: string
  service: string
}

interface RequestToSign {
  method: string
  host: string
  /** The path as it is sent. */
  path: string
  query: Iterable<readonly [string, string]>
  /** SHA-256 of the body, in hexadecimal. */
  bodyHash: string
  /** The `x-amz-` headers, all of which AWS requires in the signature. Other headers are not signed, since proxies may change them. */
  amzHeaders?: Readonly<Record<string, string>>
}

/**
 * Returns the headers of a signed request, with its `amzHeaders` included. The time is in ms since 1970.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export type Signer = (request: RequestToSign, keys: AccessKeys, now: number) => Record<string, string>

/** Creates a signer for a region and service. */
export function createSigner({ region, service }: SigningScope, digest: Digest): Signer {
  // To derive a key costs four times as much as a signature. The last key is cached until the day or the secret changes.
  let kept: { secret: string; day: string; sign: (text: string) => string } | undefined
  const signsOf = (secret: string, day: string) => {
    if (kept?.secret !== secret || kept.day !== day) {
      const key = digest.hmac(`AWS4${secret}`, day)
      kept = { secret, day, sign: digest.hmacsBy([region, service, 'aws4_request'].reduce(digest.hmac, key)) }
    }
    return kept.sign
  }

  return ({ method, host, path, query, bodyHash, amzHeaders = {} }, keys, now) => {
    const { accessKeyId, secretAccessKey, sessionToken } = keys
    const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '')
    const day = time.slice(0, 8)
    const headers: Record<string, string> = defined({
      ...amzHeaders,
      host,
      'x-amz-content-sha256': service === 's3' ? bodyHash : undefined,
      'x-amz-date': time,
      'x-amz-security-token': sessionToken,
    })
    const names = Object.keys(headers).sort()
    const canonical = [
      method,
      canonicalPath(path, service),
      canonicalQuery(query),
      // A server counts spaces in a row as one.
      ...names.map((name) => `${name}:${headers[name]?.replace(/ {2,}/g, ' ')}`),
      '',
      names.join(';'),
      bodyHash,
    ].join('\n')
    const scope = `${day}/${region}/${service}/aws4_request`
    const toSign = ['AWS4-HMAC-SHA256', time, scope, digest.sha256(canonical)].join('\n')
    const signature = signsOf(secretAccessKey, day)(toSign)
    const credential = `${accessKeyId}/${scope}`
    return {
      ...headers,
      authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
    }
  }
}

/** Returns the path for the signature. S3 signs the path as it is sent; every other service encodes it once more. */
function canonicalPath(path: string, service: string): string {
  return path
    .split('/')
    .map((segment) => {
      // A redirect may lead to a path whose escapes form no valid text. It is signed as it is.
      const strict = encodeStrictly(decodeEscapes(segment) ?? segment)
      return service === 's3' ? strict : encodeStrictly(strict)
    })
    .join('/')
}

function canonicalQuery(parameters: Iterable<readonly [string, string]>): string {
  return queryText(parameters).split('&').sort().join('&')
}
