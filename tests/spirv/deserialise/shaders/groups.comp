#version 450
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_clustered : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(local_size_x_id = 1, local_size_y = 2) in;
layout(binding = 0) buffer A { uint x[]; } a;
layout(constant_id = 5) const uint K = 3;
const uint TWICE = K * 2u;
shared uint scratch[TWICE];
void main() {
  uint i = gl_GlobalInvocationID.x + gl_WorkGroupSize.x;
  uint v = a.x[i];
  if (subgroupElect()) atomicAdd(scratch[0], v);
  if (subgroupAll(v > 2u) || subgroupAllEqual(v)) v += subgroupAdd(v) + subgroupExclusiveMax(v);
  uvec4 ballot = subgroupBallot((v & 1u) == 0u);
  v += subgroupBallotBitCount(ballot) + subgroupBallotFindLSB(ballot) + uint(subgroupInverseBallot(ballot));
  v ^= subgroupBroadcastFirst(v) ^ subgroupShuffle(v, 1u) ^ subgroupClusteredOr(v, 4u) ^ subgroupQuadBroadcast(v, 2u);
  v ^= atomicCompSwap(a.x[0], v, 2u) ^ atomicMax(scratch[K], v) ^ subgroupQuadSwapVertical(v);
  memoryBarrierShared(); barrier();
  a.x[i] = v + scratch[TWICE - 1u];
}
