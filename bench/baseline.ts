/** The least that an HTTPS admission server can do: parse the review, answer a fixed patch (base64). The measure of the others; a child. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const [, , certFile = '', keyFile = '', patch = ''] = process.argv

const server = createServer(
  { cert: readFileSync(certFile), key: readFileSync(keyFile), keepAliveTimeout: 120_000 },
  (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString())
      const body = JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: review.request.uid, allowed: true, patchType: 'JSONPatch', patch },
      })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      response.end(body)
    })
  },
)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
// The one who measures is gone, however it ended.
process.on('disconnect', () => process.exit())
