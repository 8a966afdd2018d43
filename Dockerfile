# Builds the image of `npm run image` with a container engine. Both have the same files: docs/dev/releasing.md.
# The digest names Node 24 on Debian 12. It compiles only; .ci/release/base.json pins the Node and the libraries of the image.
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /build
COPY package.json package-lock.json ./
# The `node` package is for machines with an older Node.
RUN npm ci --ignore-scripts
COPY LICENSE tsconfig.json ./
COPY bin bin
COPY .ci/release .ci/release
COPY src src
# The commit of the build, which `lodestone version` prints: `docker build --build-arg COMMIT=$(git rev-parse HEAD) .`
ARG COMMIT=unknown
RUN SOURCE_DATE_EPOCH=0 node .ci/release/image.ts --files /image

FROM scratch
ARG COMMIT=unknown
LABEL org.opencontainers.image.title=lodestone org.opencontainers.image.licenses=Apache-2.0 org.opencontainers.image.revision=$COMMIT
ENV PATH=/usr/bin NODE_ENV=production
# A young generation of 32 MiB instead of 128: 80 MiB less memory and shorter pauses (docs/dev/adr/platform/0014).
ENV NODE_OPTIONS=--max-semi-space-size=16
COPY --from=build /image /
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/usr/bin/lodestone"]
CMD ["serve"]
