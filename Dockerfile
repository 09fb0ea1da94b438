# One image for all services; the command names which:
#   gateway | agent-worker | memory-worker | all-in-one
FROM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/shared/package.json packages/shared/
COPY packages/demo-model/package.json packages/demo-model/
COPY services/gateway/package.json services/gateway/
COPY services/agent-worker/package.json services/agent-worker/
COPY services/memory-worker/package.json services/memory-worker/
COPY services/all-in-one/package.json services/all-in-one/
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

FROM node:26-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app ./
COPY packages ./packages
COPY services ./services
COPY docker/start.mjs ./
RUN install -d -o node -g node /data
ENV DATA_DIR=/data
VOLUME /data
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
# Node itself and no shell or npm before it: signals reach the service, and its exit code is the container's.
ENTRYPOINT ["node", "/app/start.mjs"]
CMD ["all-in-one"]
